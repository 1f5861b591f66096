// What stands for the input of a call that is not one JSON text. The API takes back only an object; the text is kept in it, and such
// a call is answered with an error, whatever its tool would accept (L15, L28).
import { deeperThan } from '../tools/depth.ts';

/** Levels: what is nested deeper cannot be written as JSON again, and no tool has a use for it. */
export const MAX_DEPTH = 1_000;

/** Undefined for a text that is no JSON value, or is nested too deep. */
export function parseInput(json: string): { readonly value: unknown } | undefined {
  try {
    const value = JSON.parse(json) as unknown;
    return deeperThan(value, MAX_DEPTH) ? undefined : { value };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

export function keptInput(json: string): { readonly unparsable: string } {
  return { unparsable: json };
}

/** Whether `input` was made by `keptInput`: a tool's own field of this name holds another text, or stands beside others. */
export function isBrokenInput(input: unknown): boolean {
  if (typeof input !== 'object' || input === null || Object.keys(input).length !== 1) return false;
  const { unparsable } = input as { readonly unparsable?: unknown };
  return typeof unparsable === 'string' && parseInput(unparsable) === undefined;
}
