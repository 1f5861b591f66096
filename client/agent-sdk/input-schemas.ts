// Reads the input schemas of a program's tools: fields of zod 3 or 4, or a whole object of them.
// For zod 3, which itself checks the input, this file makes the JSON schema for the model.
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import type { Tool } from '../faces/types.ts';
import type { JsonSchema } from '../../system/schema/json-schema.ts';
import type { StandardSchema } from '../../system/schema/input-schema.ts';
import type { AnyZodRawShape } from './shapes/mcp.ts';

/** The definition that an instance of any zod 3 class carries. */
type Def = {
  readonly typeName: string;
  readonly description?: string;
  readonly innerType?: Field;
  readonly schema?: Field;
  readonly type?: Field;
  readonly valueType?: Field;
  readonly options?: readonly Field[];
  readonly items?: readonly Field[];
  readonly values?: readonly string[] | Readonly<Record<string, string | number>>;
  readonly value?: unknown;
  readonly checks?: readonly { readonly kind: string; readonly value?: unknown }[];
  readonly shape?: () => Fields;
};
type Field = { readonly _def: Def; isOptional(): boolean };
type Fields = Readonly<Record<string, Field>>;

/** Throws ClientProblem `refused` unless the schema is an object's. */
export function readInputSchema(
  tool: string,
  schema: AnyZodRawShape,
): Pick<Tool, 'inputSchema'> & Pick<Partial<Tool>, 'inputJsonSchema'> {
  if (isSchema(schema)) {
    if (typeof schema.shape !== 'object')
      throw new ClientProblem(
        'refused',
        `the input of the tool "${tool}" is no object: give its fields, or z.object()`,
      );
    return '_zod' in schema ? { inputSchema: schema } : zod3Input(schema as unknown as z3.AnyZodObject);
  }
  const fields = Object.values(schema);
  const isZod3 = fields.length > 0 && fields.every((field) => !('_zod' in field) && '_def' in field);
  if (isZod3) return zod3Input(z3.object(schema as unknown as z3.ZodRawShape));
  return { inputSchema: z.object(schema as unknown as z.ZodRawShape) };
}

/** Tells a whole schema, of any version of zod, from fields. */
function isSchema(value: unknown): value is StandardSchema & { readonly shape?: unknown } {
  return typeof (value as { readonly safeParse?: unknown }).safeParse === 'function';
}

function zod3Input(object: z3.AnyZodObject): { inputSchema: StandardSchema; inputJsonSchema: JsonSchema } {
  return { inputSchema: object, inputJsonSchema: objectOf(object.shape) };
}

function objectOf(fields: Fields): JsonSchema {
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]));
  const required = Object.keys(fields).filter((name) => fields[name]?.isOptional() === false);
  return { type: 'object', properties, ...present({ required: required.length > 0 ? required : undefined }) };
}

/** A kind that is not known accepts any value here, and zod decides when the tool is called. */
function schemaOf({ _def: def }: Field): JsonSchema {
  return { ...schemaOfKind(def), ...present({ description: def.description }) };
}

function schemaOfKind(def: Def): JsonSchema {
  const inner = def.innerType ?? def.schema;
  switch (def.typeName) {
    case 'ZodString':
      return { type: 'string' };
    case 'ZodNumber':
      return { type: def.checks?.some(({ kind }) => kind === 'int') ? 'integer' : 'number' };
    case 'ZodNull':
      return { type: 'null' };
    case 'ZodBoolean':
      return { type: 'boolean' };
    case 'ZodEnum':
    case 'ZodNativeEnum':
      return { enum: Object.values(def.values ?? {}) };
    case 'ZodLiteral':
      return { const: def.value };
    case 'ZodArray':
      return { type: 'array', ...present({ items: def.type && schemaOf(def.type) }) };
    case 'ZodTuple':
      return { type: 'array', prefixItems: (def.items ?? []).map(schemaOf) };
    case 'ZodObject':
      return objectOf(def.shape?.() ?? {});
    case 'ZodRecord':
      return { type: 'object', ...present({ additionalProperties: def.valueType && schemaOf(def.valueType) }) };
    case 'ZodUnion':
      return { anyOf: (def.options ?? []).map(schemaOf) };
    case 'ZodNullable':
      return { anyOf: [inner ? schemaOf(inner) : {}, { type: 'null' }] };
    default:
      return inner ? schemaOf(inner) : {};
  }
}
