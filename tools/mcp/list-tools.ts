// The list of a server's tools, read page by page and bounded: a tool that no request could carry
// is left out, and the rest are kept.
import type { ValidateFunction } from 'ajv';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { isDeeperThan } from '../../system/json.ts';
import { foldBranches } from '../../system/schema/fold-branches.ts';
import type { StandardSchema } from '../../system/schema/input-schema.ts';
import {
  compileSchema,
  DEEPEST_SCHEMA,
  errorParts,
  type JsonSchema,
  formatErrors,
} from '../../system/schema/json-schema.ts';
import {
  isCostlierThan,
  isSchemaNode,
  measureSchemaCost,
  findSchemaLoop,
  type SchemaNode,
  walkSubschemas,
} from '../../system/schema/subschemas.ts';
import { clip, reasonOf } from '../../system/text.ts';
import type { Link } from './link.ts';
import { SERVER_BOUNDS } from './servers.ts';

export type ListedTool = {
  /** The server's name for the tool. */
  readonly name: string;
  readonly description: string;
  /**
   * The model is shown all of it. The input is held to it but for patterns, and for required fields
   * that have a default.
   */
  readonly inputSchema: StandardSchema;
  readonly readOnly: boolean;
  readonly idempotent: boolean;
  /**
   * Whether the tool may destroy something; null when the server does not say, which is to be taken
   * for yes.
   */
  readonly destructive: boolean | null;
  /** It can be called only as a task. */
  readonly isTask: boolean;
};

export type ToolList = {
  readonly tools: readonly ListedTool[];
  /** A text that is the same for the same list. */
  readonly print: string;
  /** A sentence for each tool that is left out. */
  readonly leftOut: readonly string[];
};

const page = z.looseObject({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });

/** Some servers write null for what they leave out. */
const wireTool = z.looseObject({
  name: z.string().min(1).max(128),
  description: z.string().nullish(),
  inputSchema: z.looseObject({ type: z.literal('object').nullish() }),
  annotations: z
    .looseObject({
      readOnlyHint: z.boolean().nullish(),
      idempotentHint: z.boolean().nullish(),
      destructiveHint: z.boolean().nullish(),
    })
    .nullish(),
  execution: z.looseObject({ taskSupport: z.string().nullish() }).nullish(),
});

const MOST_PAGES = 50;

/** Lists the tools. Throws McpError. */
export async function listTools(link: Link, timeout: number): Promise<ToolList> {
  const found: unknown[] = [];
  let cursor: string | undefined;
  for (let n = 0; n < MOST_PAGES; n += 1) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = await link.request('tools/list', params, page, { timeout });
    found.push(...tools.slice(0, SERVER_BOUNDS.tools + 1));
    if (nextCursor === undefined || found.length > SERVER_BOUNDS.tools) break;
    cursor = nextCursor;
  }
  return readList(found, link.offers.tasks);
}

/**
 * `takesTasks`: the server says that it runs calls as tasks. Else what its tools say of that is
 * void.
 */
export function readList(found: readonly unknown[], takesTasks = false): ToolList {
  const leftOut: string[] = [];
  const tools = new Map<string, ListedTool>();
  const prints: string[] = [];
  let room = SERVER_BOUNDS.list;
  for (const [at, each] of found.entries()) {
    const read = readTool(each, { at, room, takesTasks });
    if (typeof read === 'string') leftOut.push(read);
    else if (tools.has(read.tool.name)) leftOut.push(`${JSON.stringify(read.tool.name)} is listed twice`);
    else {
      tools.set(read.tool.name, read.tool);
      prints.push(read.print);
      room -= read.print.length;
    }
  }
  return { tools: [...tools.values()], print: prints.join('\n'), leftOut };
}

/** Reads one tool, or returns a sentence when it is left out. */
function readTool(
  each: unknown,
  { at, room, takesTasks }: { readonly at: number; readonly room: number; readonly takesTasks: boolean },
): { readonly tool: ListedTool; readonly print: string } | string {
  if (at >= SERVER_BOUNDS.tools) return `there are more than ${SERVER_BOUNDS.tools} tools`;
  const read = wireTool.safeParse(each);
  if (!read.success) return describeBadTool(each, at, read.error);
  const { name, description, inputSchema: provided, annotations, execution } = read.data;
  const label = `tool ${JSON.stringify(name)}`;
  if (isDeeperThan(provided, DEEPEST_SCHEMA))
    return `the schema of ${label} is nested more than ${DEEPEST_SCHEMA} levels deep`;
  const inputSchema: JsonSchema = { ...dropNulls(provided), type: 'object' };
  const schema = JSON.stringify(inputSchema);
  if (schema.length > SERVER_BOUNDS.schema)
    return `the schema of ${label} is longer than ${SERVER_BOUNDS.schema} characters`;
  const text = clip(description ?? '', SERVER_BOUNDS.description);
  const [readOnly, idempotent] = [annotations?.readOnlyHint === true, annotations?.idempotentHint === true];
  const isTask = takesTasks && execution?.taskSupport === 'required';
  const print = JSON.stringify([name, text, schema, readOnly, idempotent, isTask]);
  if (print.length > room) return `${label} does not fit into ${SERVER_BOUNDS.list} characters, with those before it`;
  const checked = checkSchema(inputSchema);
  if (typeof checked === 'string') return `the schema of ${label} is none: ${clip(checked, 300)}`;
  const problem = checkFieldNames(foldBranches(inputSchema));
  if (problem !== undefined) return `${label}: ${problem}`;
  const destructive = annotations?.destructiveHint ?? null;
  return { tool: { name, description: text, inputSchema: checked, readOnly, idempotent, destructive, isTask }, print };
}

/** Names the tool, where it has a name, and the wrong field. */
function describeBadTool(each: unknown, at: number, { issues: [issue] }: z.ZodError): string {
  const name: unknown = typeof each === 'object' && each !== null ? Reflect.get(each, 'name') : undefined;
  const label =
    typeof name === 'string' && name !== '' ? `tool ${JSON.stringify(clip(name, 128))}` : `tool ${at + 1} of the list`;
  const field = issue?.path.length ? ` (its ${issue.path.join('.')})` : '';
  return `${label} is none: ${reasonOf(issue?.message)}${field}`;
}

/**
 * Drops nulls: null is a value where one stands, and elsewhere says as little as an absent keyword.
 */
function dropNulls(schema: JsonSchema): JsonSchema {
  const own = structuredClone(schema);
  for (const { node } of walkSubschemas(own)) {
    for (const [keyword, value] of Object.entries(node)) {
      if (value === null && !['const', 'default', 'example'].includes(keyword))
        delete (node as Record<string, unknown>)[keyword];
    }
  }
  return own;
}

/** Checks the fields, because one tool that the API refuses would make it refuse every request. */
function checkFieldNames(schema: JsonSchema): string | undefined {
  const { properties } = schema;
  if (properties === undefined) return undefined;
  if (typeof properties !== 'object' || properties === null) return 'its properties are no object';
  const wrong = Object.keys(properties).find((key) => !/^[A-Za-z0-9_.-]{1,64}$/.test(key));
  return wrong === undefined ? undefined : `the API takes no field named ${JSON.stringify(wrong.slice(0, 80))}`;
}

/**
 * The most schemas that one value is held to: more would occupy the worker, which checks inputs of
 * all its sessions, for long.
 */
const MOST_FOR_ONE_VALUE = 10_000;
/** The same, for an input and all that is in it. */
const MOST_FOR_ONE_INPUT = 1_000_000;
const TOO_MUCH = 'the schema holds it to itself too many times: give fewer or flatter values';

/**
 * Checks a schema; returns a sentence for a wrong one. It is compiled when it is needed: that takes
 * longer than all the rest of a list.
 */
function checkSchema(schema: JsonSchema): StandardSchema | string {
  const loop = findSchemaLoop(schema);
  if (loop !== undefined) return `${loop} refers to itself and to nothing else`;
  if (measureSchemaCost(schema) > MOST_FOR_ONE_VALUE) return 'it holds one value to too many schemas';
  // The draft that a stranger's schema names says little of it.
  const { $schema: _, ...plain } = schema;
  const own = loosenSchema(schema);
  if (!getMetaSchema().validateSchema(plain)) return formatErrors(getMetaSchema().errors, plain);
  let validate: ValidateFunction | undefined;
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp',
      validate: (value) => {
        if (isCostlierThan(own, value, MOST_FOR_ONE_INPUT)) return { issues: [{ message: TOO_MUCH, path: [] }] };
        validate ??= compileForeign(own);
        return validate(value) ? { value } : { issues: errorParts(validate.errors, value).map(toIssue) };
      },
      jsonSchema: { input: () => schema },
    },
  };
}

function toIssue({ path, message }: { readonly path: string; readonly message: string }) {
  return { message, path: path === '' ? [] : [path.replace(/^\./, '')] };
}

const LAX = { strict: false, validateFormats: false, allErrors: true, logger: false } as const;

/** It takes long to build. What it says of one schema is read before it checks the next. */
let sharedMetaSchema: Ajv2020 | undefined;
const getMetaSchema = (): Ajv2020 => (sharedMetaSchema ??= new Ajv2020(LAX));

/**
 * Compiles a schema as far as it is known: unknown keywords say nothing, and the server checks for
 * itself.
 */
function compileForeign(schema: JsonSchema): ValidateFunction {
  const { $schema: _, ...plain } = schema;
  // References to names could lead anywhere: the cost of checking is counted by references that are
  // paths from its root.
  const isNamed = /"\$(?:id|anchor|dynamicAnchor)":"/.test(JSON.stringify(schema));
  const ways = isNamed ? [] : [() => compileSchema(schema), () => new Ajv2020(LAX).compile(plain)];
  for (const compile of ways) {
    try {
      return compile();
    } catch {
      // It has a reference that leads nowhere, or a keyword of others: the next way asks for less.
    }
  }
  return new Ajv2020(LAX).compile({ type: 'object' });
}

/**
 * Loosens a schema. A stranger's pattern can be made to hang the worker: the server checks patterns
 * itself. A field with a default is required of the server's answer, as libraries write such
 * schemas, and not of its input.
 */
function loosenSchema(schema: JsonSchema): JsonSchema {
  // Its own name matters to others alone.
  const { $id: _, ...own } = structuredClone(schema);
  for (const { node } of walkSubschemas(own)) {
    const open = node as Record<string, unknown>;
    delete open['pattern'];
    const { required, properties } = node;
    if (Array.isArray(required) && isSchemaNode(properties))
      open['required'] = required.filter((name) => !hasDefault(properties, name));
    if (open['patternProperties'] === undefined) continue;
    for (const key of ['patternProperties', 'additionalProperties', 'unevaluatedProperties']) delete open[key];
  }
  return own;
}

function hasDefault(properties: SchemaNode, name: unknown): boolean {
  const field = typeof name === 'string' && Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isSchemaNode(field) && Object.hasOwn(field, 'default');
}
