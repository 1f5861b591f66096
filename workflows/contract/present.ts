// Leaves out absent fields: input that is stored or sent stays short, and hashes the same.

type Present<Fields> = {
  readonly [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & {
  readonly [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined>;
};

/** Returns the fields that are not undefined, in their order. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<Fields>;
}
