// Measures and parses JSON from outside, and wraps a text that is not JSON.

/**
 * Tells whether `value` is nested more than `limit` levels deep. It does not recurse: the value may
 * be built to overflow a stack.
 */
export function isDeeperThan(value: unknown, limit: number): boolean {
  const open: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next.value !== 'object' || next.value === null) continue;
    if (next.depth > limit) return true;
    for (const child of Object.values(next.value)) open.push({ value: child, depth: next.depth + 1 });
  }
  return false;
}

/**
 * JSON that is nested more levels deep cannot be written as JSON again, and no tool has a use for
 * it.
 */
export const DEEPEST_JSON = 1_000;

/** Returns undefined for a text that is not one JSON value, or is nested too deep. */
export function parseInput(json: string): { readonly value: unknown } | undefined {
  try {
    const value = JSON.parse(json) as unknown;
    return isDeeperThan(value, DEEPEST_JSON) ? undefined : { value };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/**
 * Returns the stand-in for the input of a call that is not one JSON text. The API takes back only
 * an object; the text is kept in it, and such a call is answered with an error, whatever its tool
 * would accept (L15, L28).
 */
export function wrapUnparsable(json: string): { readonly unparsable: string } {
  return { unparsable: json };
}

/**
 * Tells whether `input` was made by `wrapUnparsable`: a tool's own field of this name holds another
 * text, or comes with other fields.
 */
export function isBrokenInput(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || Object.keys(input).length !== 1) return false;
  const { unparsable } = input as { readonly unparsable?: unknown };
  return typeof unparsable === 'string' && parseInput(unparsable) === undefined;
}

/**
 * Levels of an input. Deeper input overflows stacks further down: JSON.stringify, a schema that
 * recurses. No tool has a use for it.
 */
export const DEEPEST_INPUT = 200;
