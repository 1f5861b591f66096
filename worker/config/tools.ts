// The schemas of the tools and the MCP servers (L74) in a configuration. A tool that cannot be
// registered is found before anything starts, and named by its place.
import { z } from 'zod';
import { builtinNames } from '../../tools/builtin/builtin-names.ts';
import { buildDefinition } from '../../tools/registry.ts';
import { nearName } from '../../workflows/contract/did-you-mean.ts';
import { type InputSchema, isStandardSchema } from '../../system/schema/input-schema.ts';
import type { Recovery, Risk, Tool } from '../../tools/tool.ts';
import { reasonOf } from '../../system/text.ts';
import { toolNameSchema } from './offered-tools.ts';
import { functionSchema, missingCredentialsSchema, textSchema, millisecondsSchema } from './schema-parts.ts';
import { isAbsolute } from 'node:path';
import type { HttpServer, KnownServer, StdioServer } from '../../tools/mcp/servers.ts';
import { SERVER_NAME } from '../../workflows/contract/mcp-servers.ts';
import { ISSUE_OPTIONS } from './issue-text.ts';

const risks = ['read', 'write', 'execute', 'external'] as const satisfies readonly Risk[];
const recoveries = ['rerun', 'verify', 'ask', 'report'] as const satisfies readonly Recovery[];

/** The configuration may import any copy of any schema library, so classes are not compared. */
const inputSchema = z.custom<InputSchema>(
  (value) => isStandardSchema(value) || (typeof value === 'object' && value !== null && !Array.isArray(value)),
  'give a schema of zod, valibot or arktype, such as z.strictObject({ … }), or a JSON schema',
);

const toolFields = {
  name: toolNameSchema,
  description: z.string(),
  inputSchema,
  inputJsonSchema: z.record(z.string(), z.unknown(), 'give a JSON schema').optional(),
  risk: z.union([z.enum(risks), functionSchema]),
  safe: functionSchema.optional(),
  recovery: z.enum(recoveries),
  asksModel: functionSchema.optional(),
  asksPeople: z.literal(true).optional(),
  validate: functionSchema.optional(),
  wouldFail: functionSchema.optional(),
  canUse: functionSchema.optional(),
  subject: functionSchema.optional(),
  call: functionSchema,
  delegate: functionSchema.optional(),
  conclude: functionSchema.optional(),
  verify: functionSchema.optional(),
  close: functionSchema.optional(),
  backfillObservableInput: functionSchema.optional(),
} satisfies Readonly<Record<keyof Tool, unknown>>;

const toolSchema = z.looseObject(toolFields, 'give a tool made with defineTool').superRefine((value, context) => {
  // A tool may have further keys; one that is nearly a known key was meant to be that key.
  for (const key of Object.keys(value)) {
    const near = Object.hasOwn(toolFields, key) ? undefined : nearName(key, Object.keys(toolFields));
    if (near !== undefined) context.addIssue({ code: 'custom', path: [key], message: `did you mean "${near}"?` });
  }
  if (value.recovery === 'verify' && value.verify === undefined) {
    const message = 'give a function, or another recovery than "verify"';
    context.addIssue({ code: 'custom', path: ['verify'], input: undefined, message });
  }
  const problem = definitionProblem(value);
  if (problem !== undefined) context.addIssue({ code: 'custom', path: ['inputSchema'], message: problem });
});

/** Returns the registry's complaint about a tool. */
function definitionProblem(tool: unknown): string | undefined {
  try {
    buildDefinition(tool as Tool);
    return undefined;
  } catch (error) {
    // The schema is foreign code: an error that it throws is its own mistake.
    return reasonOf(error);
  }
}

/**
 * Describes a name that differs from a built-in tool's in case alone: a rule for `Bash` means bash,
 * and would rule that tool too.
 */
function describeBuiltinLike(name: string): string | undefined {
  const builtin = name.toLowerCase();
  return builtinNames.some((known) => known === builtin)
    ? `the built-in tool ${builtin}, written otherwise,`
    : undefined;
}

export const toolsSchema = z.array(toolSchema).superRefine((tools, context) => {
  const owners = new Map<string, string>(builtinNames.map((name) => [name, 'a built-in tool']));
  for (const [at, { name }] of tools.entries()) {
    const whose = owners.get(name) ?? describeBuiltinLike(name);
    const message = `give another name, ${whose} has this one`;
    if (whose !== undefined) context.addIssue({ code: 'custom', path: [at, 'name'], input: name, message });
    owners.set(name, `"tools.${at}"`);
  }
});

const MOST_SERVERS = 50;
const MOST_KNOWN = 500;
/** Minutes of a day. */
const DAY = 24 * 60;

const nameRight = 'give 1 to 32 letters, digits, "-" or "_", no two "_" together and none at an end';
const serverNameSchema = z.string(nameRight).regex(SERVER_NAME, nameRight);

const commonFields = {
  trusted: z.boolean().optional(),
  asksPeople: z.boolean().optional(),
  answers: functionSchema.optional(),
  timeoutMs: millisecondsSchema(DAY).optional(),
  progressTimeoutMs: millisecondsSchema(DAY).optional(),
  connectTimeoutMs: millisecondsSchema(60).optional(),
};

const variableRight = 'give the name of a variable';
const noNul = z.string().refine((value) => !value.includes('\0'), 'give a text without NUL characters');
const absolute = 'give an absolute path';

const programSchema = z.strictObject({
  ...commonFields,
  type: z.literal('stdio').optional(),
  command: textSchema(4_096),
  args: z.array(noNul).max(200).optional(),
  env: z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, variableRight), noNul).optional(),
  cwd: z
    .string(absolute)
    .refine((path) => isAbsolute(path), absolute)
    .optional(),
} satisfies Readonly<Record<keyof StdioServer, unknown>>);

const urlRight = 'give an address that begins with https:// or http://';
const headers = z.record(z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, 'give the name of a header'), z.string());

const urlSchema = z
  .string(urlRight)
  .refine((url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol), urlRight);
const headersSchema = z.union([functionSchema, headers]);

const addressSchema = z.strictObject({
  ...commonFields,
  type: z.enum(['http', 'sse']),
  url: urlSchema,
  headers: headersSchema.optional(),
  missingCredentials: missingCredentialsSchema.optional(),
} satisfies Readonly<Record<keyof HttpServer, unknown>>);

const isAddress = (server: unknown): boolean =>
  typeof server === 'object' &&
  server !== null &&
  ('url' in server || ['http', 'sse'].includes(String(Reflect.get(server, 'type'))));

/** Checks a server against the kind that was meant, so that problems are about that kind. */
const serverSchema = z.unknown().superRefine((value, context) => {
  const { error } = (isAddress(value) ? addressSchema : programSchema).safeParse(value, ISSUE_OPTIONS);
  for (const issue of error?.issues ?? []) context.addIssue({ ...issue });
});

export const mcpServersSchema = z.record(serverNameSchema, serverSchema).superRefine((servers, context) => {
  const { length } = Object.keys(servers);
  const message = `it has ${length} servers: give at most ${MOST_SERVERS}`;
  if (length > MOST_SERVERS) context.addIssue({ code: 'custom', message });
});

/** Servers that sessions may name, by address. Nobody answers what they ask. */
const { trusted, timeoutMs, progressTimeoutMs, connectTimeoutMs } = commonFields;
const knownServerSchema = z.strictObject({
  trusted,
  timeoutMs,
  progressTimeoutMs,
  connectTimeoutMs,
  headers: headersSchema.optional(),
} satisfies Readonly<Record<keyof KnownServer, unknown>>);

export const knownServersSchema = z.record(urlSchema, knownServerSchema).superRefine((servers, context) => {
  const { length } = Object.keys(servers);
  const message = `it has ${length} servers: give at most ${MOST_KNOWN}`;
  if (length > MOST_KNOWN) context.addIssue({ code: 'custom', message });
});
