// Bodies of requests about vaults and their credentials (G65). No message of a check repeats what
// was sent.
import { z } from 'zod';
import { urlProblem } from '../mcp-servers.ts';
import { metadata, metadataPatch, moment } from './parse.ts';

const LONGEST_URL = 2_000;
const LONGEST_SECRET = 16_384;

const name = z.string().regex(/^\P{Cc}{1,255}$/u, 'give 1 to 255 characters, none of them a control character');

export const vaultCreate = z.strictObject({ display_name: name, metadata: metadata.optional() });

export const vaultUpdate = z.strictObject({
  display_name: name.nullable().optional(),
  metadata: metadataPatch.nullable().optional(),
});

const url = z
  .string()
  .max(LONGEST_URL)
  .superRefine((text, context) => {
    const problem = urlProblem(text);
    if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
  });

const secret = z.string().min(1).max(LONGEST_SECRET);
/** What goes into a header. */
const token = secret.regex(/^[\x21-\x7e]+$/, 'give printable characters without blanks');

const secretAuth = <Type extends string>(type: Type) =>
  z.strictObject({ type: z.literal(type), client_secret: secret });
const scope = z.string().max(LONGEST_URL);

const refresh = z.strictObject({
  client_id: z.string().min(1).max(LONGEST_URL),
  refresh_token: secret,
  token_endpoint: url,
  token_endpoint_auth: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('none') }),
    secretAuth('client_secret_basic'),
    secretAuth('client_secret_post'),
  ]),
  resource: z.string().max(LONGEST_URL).nullable().optional(),
  scope: scope.nullable().optional(),
});

/** It is refused by name, whatever it holds. */
const environmentVariable = z.looseObject({ type: z.literal('environment_variable') });

export const credentialCreate = z.strictObject({
  auth: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('static_bearer'), mcp_server_url: url, token }),
    z.strictObject({
      type: z.literal('mcp_oauth'),
      mcp_server_url: url,
      access_token: token,
      expires_at: moment.nullable().optional(),
      refresh: refresh.nullable().optional(),
    }),
    environmentVariable,
  ]),
  display_name: name.nullable().optional(),
  metadata: metadata.optional(),
});
export type NewAuth = z.output<typeof credentialCreate>['auth'];

const secretUpdate = <Type extends string>(type: Type) =>
  z.strictObject({ type: z.literal(type), client_secret: secret.nullable().optional() });

export const credentialUpdate = z.strictObject({
  auth: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('static_bearer'), token: token.nullable().optional() }),
      z.strictObject({
        type: z.literal('mcp_oauth'),
        access_token: token.nullable().optional(),
        expires_at: moment.nullable().optional(),
        refresh: z
          .strictObject({
            refresh_token: secret.nullable().optional(),
            scope: scope.nullable().optional(),
            token_endpoint_auth: z
              .discriminatedUnion('type', [secretUpdate('client_secret_basic'), secretUpdate('client_secret_post')])
              .optional(),
          })
          .nullable()
          .optional(),
      }),
      environmentVariable,
    ])
    .optional(),
  display_name: name.nullable().optional(),
  metadata: metadataPatch.nullable().optional(),
});
export type AuthUpdate = NonNullable<z.output<typeof credentialUpdate>['auth']>;
