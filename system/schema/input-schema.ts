// Checks inputs against the schema of a tool: one of zod or another library with the Standard
// Schema interface, or a plain JSON schema.
import type { ValidateFunction } from 'ajv';
import { z } from 'zod';
import { DEEPEST_INPUT, isDeeperThan } from '../json.ts';
import { fieldsOf, foldBranches, jsonTypeOf, typesOf } from './fold-branches.ts';
import { compileSchema, errorParts, type JsonSchema, schemaProblem } from './json-schema.ts';
import { isSchemaNode, resolveReference, type SchemaNode } from './subschemas.ts';

/** The interface that schema libraries share (standardschema.dev). */
export type StandardSchema<Output = unknown> = {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    /** Offered by libraries that can export their schema as a JSON schema. */
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

/** The input as the schema returns it; any object for a plain JSON schema. */
export type InputOf<Schema extends InputSchema> = Schema extends {
  readonly '~standard': { readonly types?: infer Types };
}
  ? NonNullable<Types> extends { readonly output: infer Output }
    ? Output
    : unknown
  : Readonly<Record<string, unknown>>;

/** `path` is empty for the input itself. */
export type InputProblem = { readonly path: string; readonly message: string };

type CheckedInput =
  { readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problems: readonly InputProblem[] };

export function isStandardSchema(schema: unknown): schema is StandardSchema {
  if ((typeof schema !== 'object' || schema === null) && typeof schema !== 'function') return false;
  const standard: unknown = Reflect.get(schema, '~standard');
  return typeof standard === 'object' && standard !== null && typeof Reflect.get(standard, 'validate') === 'function';
}

/**
 * Throws what the schema's own code throws, and an error for one that answers with a promise:
 * whether a call may run is decided at once.
 */
export function checkInput(schema: InputSchema, input: unknown): CheckedInput {
  if (!isStandardSchema(schema)) {
    const validate = compileOnce(schema);
    if (validate(input)) return { ok: true, value: input };
    const problems = errorParts(validate.errors, input);
    return { ok: false, problems: problems.map(({ path, message }) => ({ path: path.replace(/^\./, ''), message })) };
  }
  const result = schema['~standard'].validate(input);
  if ('then' in result) {
    // The late answer is ignored.
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

const compiledSchemas = new WeakMap<JsonSchema, ValidateFunction>();

/** Compiles each schema once; the same object is the same schema. */
function compileOnce(schema: JsonSchema): ValidateFunction {
  const validate = compiledSchemas.get(schema) ?? compileSchema(schema);
  compiledSchemas.set(schema, validate);
  return validate;
}

type ToolInput = {
  readonly name: string;
  readonly inputSchema: InputSchema;
  readonly inputJsonSchema?: JsonSchema | undefined;
};

/**
 * Returns the schema that the model is shown, without branches at its top. Throws when the tool
 * gives none, or one that inputs cannot be held to.
 */
export function inputJsonSchema(described: ToolInput): JsonSchema {
  return foldBranches(inputSchemaAsJson(described));
}

/**
 * Checks an input as `checkInput` does, and takes one that misses the schema only by how its values
 * are written as it was meant.
 */
export function acceptInput(described: ToolInput, input: unknown): CheckedInput {
  const { inputSchema } = described;
  const checked = checkInput(inputSchema, input);
  if (checked.ok) return checked;
  const meant = mendInput(inputSchemaAsJson(described), input);
  // A text may encode a value that is too deep for an input.
  if (meant === input || isDeeperThan(meant, DEEPEST_INPUT)) return checked;
  const accepted = checkInput(inputSchema, meant);
  return accepted.ok ? accepted : checked;
}

function inputSchemaAsJson({ name, inputSchema, inputJsonSchema: declared }: ToolInput): JsonSchema {
  if (declared !== undefined) return requireUsable(declared, 'input JSON schema');
  if (!isStandardSchema(inputSchema)) return requireUsable(inputSchema, 'input schema');
  // This also matches other copies of zod.
  if ('_zod' in inputSchema) return z.toJSONSchema(inputSchema as unknown as z.ZodType, { io: 'input' });
  const { vendor, jsonSchema } = inputSchema['~standard'];
  if (jsonSchema !== undefined) return jsonSchema.input({ target: 'draft-2020-12' });
  const how = vendor === 'valibot' ? 'wrap it in toStandardJsonSchema() of @valibot/to-json-schema, or give' : 'give';
  throw new Error(
    `the model has to be shown the input of tool "${name}", and its schema (${vendor}) cannot say itself as JSON schema: ${how} inputJsonSchema beside it`,
  );
}

function requireUsable(schema: JsonSchema, what: string): JsonSchema {
  const problem = schemaProblem(schema, what);
  if (problem !== undefined) throw new Error(problem);
  return schema;
}

/**
 * Mends an input that misses its schema only by how a value is written: a list or a number as a
 * JSON text, null for a field that is absent. A value is mended where the schema leaves no doubt of
 * what is meant. Returns the input as it was meant, as far as that is certain, and the same value
 * where nothing is.
 */
export function mendInput(schema: JsonSchema, input: unknown): unknown {
  return mendValue(schema, input, foldBranches(schema), 0);
}

/** Levels of an input that are mended. */
const DEEPEST_MENDED = 20;

function mendValue(root: JsonSchema, value: unknown, node: unknown, depth: number): unknown {
  const schema = isSchemaNode(node) && typeof node['$ref'] === 'string' ? resolveReference(node['$ref'], root) : node;
  if (!isSchemaNode(schema) || depth > DEEPEST_MENDED) return value;
  const types = typesOf(schema, root, 0);
  const meant =
    typeof value === 'string' && types !== null && !types.has('string') ? parseMeantValue(value, types) : value;
  if (Array.isArray(meant)) {
    const items = meant.map((item) => mendValue(root, item, schema['items'], depth + 1));
    return items.every((item, at) => item === meant[at]) ? meant : items;
  }
  return isSchemaNode(meant) ? mendObject(root, meant, schema, depth) : meant;
}

function mendObject(root: JsonSchema, value: SchemaNode, schema: SchemaNode, depth: number): SchemaNode {
  const { properties, required } = fieldsOf(schema, root);
  let isSame = true;
  const entries = Object.entries(value).flatMap(([name, field]) => {
    const [fieldSchema, ...others] = properties.get(name) ?? [];
    if (fieldSchema === undefined || others.length > 0) return [[name, field] as const];
    if (field === null && !required.has(name) && typesOf(fieldSchema, root, 0)?.has('null') === false) {
      isSame = false;
      return [];
    }
    const meant = mendValue(root, field, fieldSchema, depth + 1);
    isSame &&= meant === field;
    return [[name, meant] as const];
  });
  return isSame ? value : Object.fromEntries(entries);
}

/** Returns the value that a text encodes as JSON when it has one of these types, else the text. */
function parseMeantValue(text: string, types: ReadonlySet<string>): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  // A number that would be written differently is another number.
  if (typeof value === 'number' && String(value) !== text.trim()) return text;
  const type = jsonTypeOf(value);
  const isMeant = types.has(type) || (type === 'number' && types.has('integer') && Number.isSafeInteger(value));
  return isMeant && value !== null ? value : text;
}
