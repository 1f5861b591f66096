// Reads the JSON schema of --output-schema from its file.
import { statSync } from 'node:fs';
import { OPTION_BOUNDS } from '../workflows/contract/run-options.ts';
import { UsageError } from './errors.ts';
import { type JsonSchema, schemaProblem } from '../system/schema/json-schema.ts';
import { readNamedFile, whyUnread } from '../system/read-named-file.ts';
import { oneLine } from '../client/paint.ts';

/** Most bytes of the file, including whitespace; a larger schema would be refused anyway. */
const LARGEST = 1024 * 1024;

/**
 * Reads the JSON schema at the absolute `path`. Throws UsageError, also for a schema that an answer
 * cannot be checked against (L53).
 */
export function readSchema(path: string): JsonSchema {
  const value = parseJson(path, readContent(path));
  if (!isObject(value))
    throw new UsageError(
      `the output schema ${path} is not a JSON object: write a JSON schema such as {"type": "object"}`,
    );
  const problem = schemaProblem(value);
  if (problem !== undefined) throw new UsageError(problem);
  return value;
}

function isObject(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function readContent(path: string): string {
  try {
    const { size } = statSync(path);
    if (size > LARGEST)
      throw new UsageError(
        `the output schema ${path} has ${size} bytes: give at most ${LARGEST}, and ${OPTION_BOUNDS.outputSchema} characters of JSON`,
      );
    return readNamedFile(path);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`the output schema ${path} ${whyUnread(error)}`);
  }
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new UsageError(`the output schema ${path} is not JSON: ${oneLine(error.message, 200)}`);
  }
}
