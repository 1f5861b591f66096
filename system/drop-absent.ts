// Builds objects without the fields that have no value.

type Given<Fields> = { [Key in keyof Fields]: Exclude<Fields[Key], undefined> };

/** Returns the fields without those that are undefined. */
export function dropAbsent<Fields extends object>(fields: Fields): Given<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<Fields>;
}
