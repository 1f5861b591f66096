// Reads the input of a call as a person writes it: one JSON object.
import { oneLine } from '../../client/faces/basics.ts';
import { UsageError } from '../errors.ts';

/** Reads the input of a call, one JSON object. Throws UsageError. */
export function parseCallInput(text: string): Readonly<Record<string, unknown>> {
  const value = parseJson(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new UsageError(`the input ${oneLine(text, 80)} is not a JSON object: write it as {"name": "value"}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const why = error instanceof SyntaxError ? error.message : String(error);
    throw new UsageError(`the input is not JSON: ${oneLine(why, 200)}`);
  }
}
