// The input schema of a tool: one of zod or another library with the Standard Schema interface, or
// a plain JSON schema.
import type { ValidateFunction } from 'ajv';
import { z } from 'zod';
import { deeperThan, MAX_DEPTH } from '../json.ts';
import { foldBranches } from './fold-branches.ts';
import { compileSchema, errorParts, type JsonSchema, schemaProblem } from './json-schema.ts';
import { mendInput } from './mend-input.ts';

/** The interface that schema libraries share (standardschema.dev). */
export type StandardSchema<Output = unknown> = {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Libraries that can say their schema as JSON schema have it. */
    readonly jsonSchema?: { readonly input: (options: { readonly target: 'draft-2020-12' }) => JsonSchema };
  };
};

export type StandardResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly StandardIssue[] };

type StandardIssue = {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
};

export type InputSchema = StandardSchema | JsonSchema;

/** The input as the schema returns it: any object, of a plain JSON schema. */
export type InputOf<Schema extends InputSchema> = Schema extends {
  readonly '~standard': { readonly types?: infer Types };
}
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Readonly<Record<string, unknown>>;

/** `path`: empty for the input itself. */
export type InputProblem = { readonly path: string; readonly message: string };

export type CheckedInput =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problems: readonly InputProblem[] };

export function isStandard(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== 'object' || schema === null) && typeof schema !== 'function') return false;
  const standard: unknown = Reflect.get(schema, '~standard');
  return typeof standard === 'object' && standard !== null && typeof Reflect.get(standard, 'validate') === 'function';
}

/**
 * Throws what the schema's own code throws, and a sentence for one that answers later: whether a
 * call may run is decided at once.
 */
export function checkInput(schema: InputSchema, input: unknown): CheckedInput {
  if (!isStandard(schema)) {
    const validate = compiled(schema);
    if (validate(input)) return { ok: true, value: input };
    const problems = errorParts(validate.errors, input);
    return { ok: false, problems: problems.map(({ path, message }) => ({ path: path.replace(/^\./, ''), message })) };
  }
  const result = schema['~standard'].validate(input);
  if ('then' in result) {
    // What it comes to is of no use.
    result.catch(() => undefined);
    throw new Error('its input schema answers later (a promise): do that check in `validate` of the tool');
  }
  return result.issues === undefined
    ? { ok: true, value: result.value }
    : { ok: false, problems: result.issues.map(problemOf) };
}

function problemOf({ message, path = [] }: StandardIssue): InputProblem {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return { path: keys.join('.'), message };
}

const kept = new WeakMap<JsonSchema, ValidateFunction>();

/** Each schema is compiled once; the same object is the same schema. */
function compiled(schema: JsonSchema): ValidateFunction {
  const validate = kept.get(schema) ?? compileSchema(schema);
  kept.set(schema, validate);
  return validate;
}

type Described = {
  readonly name: string;
  readonly inputSchema: InputSchema;
  readonly inputJsonSchema?: JsonSchema | undefined;
};

/**
 * The schema that the model is shown, with no branches at its top. Throws a sentence where there is
 * none, or where it cannot be held to.
 */
export function inputJsonSchema(described: Described): JsonSchema {
  return foldBranches(ownSchema(described));
}

/**
 * As `checkInput`; an input that misses the schema only by how its values are written is taken as
 * it was meant.
 */
export function acceptInput(described: Described, input: unknown): CheckedInput {
  const { inputSchema } = described;
  const checked = checkInput(inputSchema, input);
  if (checked.ok) return checked;
  const meant = mendInput(ownSchema(described), input);
  // A text may say a value that no input may be.
  if (meant === input || deeperThan(meant, MAX_DEPTH)) return checked;
  const taken = checkInput(inputSchema, meant);
  return taken.ok ? taken : checked;
}

function ownSchema({ name, inputSchema, inputJsonSchema: given }: Described): JsonSchema {
  if (given !== undefined) return held(given, 'input JSON schema');
  if (!isStandard(inputSchema)) return held(inputSchema, 'input schema');
  // Any copy of zod.
  if ('_zod' in inputSchema) return z.toJSONSchema(inputSchema as unknown as z.ZodType, { io: 'input' });
  const { vendor, jsonSchema } = inputSchema['~standard'];
  if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-2020-12' });
  const how = vendor === 'valibot' ? 'wrap it in toStandardJsonSchema() of @valibot/to-json-schema, or give' : 'give';
  throw new Error(
    `the model has to be shown the input of tool "${name}", and its schema (${vendor}) cannot say itself as JSON schema: ${how} inputJsonSchema beside it`,
  );
}

function held(schema: JsonSchema, what: string): JsonSchema {
  const problem = schemaProblem(schema, what);
  if (problem !== undefined) throw new Error(problem);
  return schema;
}
