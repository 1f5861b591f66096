// JSON from outside: how deep it is nested, and what stands for a text that is none.

/** Works without recursion: what is asked about may be built to overflow a stack. */
export function deeperThan(value: unknown, limit: number): boolean {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth > limit) return true;
    for (const child of Object.values(next.value)) open.push({ value: child, depth: next.depth + 1 });
  }
  return false;
}

// The stand-in for the input of a call that is not one JSON text. The API takes back only an
// object; the text is kept in it, and such a call is answered with an error, whatever its tool
// would accept (L15, L28).

/** Levels: what is nested deeper cannot be written as JSON again, and no tool has a use for it. */
export const DEEPEST_JSON = 1_000;

/** Undefined for a text that is no JSON value, or is nested too deep. */
export function parseInput(json: string): { readonly value: unknown } | undefined {
  try {
    const value = JSON.parse(json) as unknown;
    return deeperThan(value, DEEPEST_JSON) ? undefined : { value };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function keptInput(json: string): { readonly unparsable: string } {
  return { unparsable: json };
}

/**
 * Whether `input` was made by `keptInput`: a tool's own field of this name holds another text, or
 * stands beside others.
 */
export function isBrokenInput(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || Object.keys(input).length !== 1) return false;
  const { unparsable } = input as { readonly unparsable?: unknown };
  return typeof unparsable === 'string' && parseInput(unparsable) === undefined;
}

/**
 * Deeper input than any tool has a use for overflows stacks further down: JSON.stringify, a schema
 * that recurses.
 */
export const MAX_DEPTH = 200;

/** `Fields` with each field that may be undefined made optional. */
export type Present<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

/** Returns the fields that are not undefined, in their order: `{ a, ...present({ b, c }) }`. */
export function present<Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<Fields>;
}
