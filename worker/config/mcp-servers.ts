// The schema of the MCP servers in a configuration (L74).
import { isAbsolute } from 'node:path';
import { z } from 'zod';
import type { HttpServer, KnownServer, StdioServer } from '../../tools/mcp/servers.ts';
import { SERVER_NAME } from '../../workflows/contract/mcp-servers.ts';
import { ISSUE_OPTIONS } from './issue-text.ts';
import { missingCredentialsSchema, functionSchema, textSchema, millisecondsSchema } from './schema-parts.ts';

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
