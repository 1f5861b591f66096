// Bodies of requests about vaults and their credentials (G65), and the authentication that they
// describe. Messages of checks never repeat a secret.
import { z } from 'zod';
import type { CredentialAuth, Secrets } from '../../client/faces/types.ts';
import { invalid, unsupported } from '../errors.ts';
import { formatTime } from '../ids.ts';
import { urlProblem } from '../mcp-servers.ts';
import { displayName as name, metadata, metadataPatch, moment } from './parse.ts';

const LONGEST_URL = 2_000;
const LONGEST_SECRET = 16_384;

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
/** A secret that goes into a header. */
const headerToken = secret.regex(/^[\x21-\x7e]+$/, 'give printable characters without blanks');

const secretAuth = <Type extends string>(type: Type) =>
  z.strictObject({ type: z.literal(type), client_secret: secret });
const oauthScope = z.string().max(LONGEST_URL);

const oauthRefresh = z.strictObject({
  client_id: z.string().min(1).max(LONGEST_URL),
  refresh_token: secret,
  token_endpoint: url,
  token_endpoint_auth: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('none') }),
    secretAuth('client_secret_basic'),
    secretAuth('client_secret_post'),
  ]),
  resource: z.string().max(LONGEST_URL).nullable().optional(),
  scope: oauthScope.nullable().optional(),
});

/** It is refused by name, whatever it holds. */
const environmentVariable = z.looseObject({ type: z.literal('environment_variable') });

export const credentialCreate = z.strictObject({
  auth: z.discriminatedUnion('type', [
    z.strictObject({ type: z.literal('static_bearer'), mcp_server_url: url, token: headerToken }),
    z.strictObject({
      type: z.literal('mcp_oauth'),
      mcp_server_url: url,
      access_token: headerToken,
      expires_at: moment.nullable().optional(),
      refresh: oauthRefresh.nullable().optional(),
    }),
    environmentVariable,
  ]),
  display_name: name.nullable().optional(),
  metadata: metadata.optional(),
});
type NewAuth = z.output<typeof credentialCreate>['auth'];

const secretUpdate = <Type extends string>(type: Type) =>
  z.strictObject({ type: z.literal(type), client_secret: secret.nullable().optional() });

export const credentialUpdate = z.strictObject({
  auth: z
    .discriminatedUnion('type', [
      z.strictObject({ type: z.literal('static_bearer'), token: headerToken.nullable().optional() }),
      z.strictObject({
        type: z.literal('mcp_oauth'),
        access_token: headerToken.nullable().optional(),
        expires_at: moment.nullable().optional(),
        refresh: z
          .strictObject({
            refresh_token: secret.nullable().optional(),
            scope: oauthScope.nullable().optional(),
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
type AuthUpdate = NonNullable<z.output<typeof credentialUpdate>['auth']>;

export type Auth = { readonly auth: CredentialAuth; readonly secrets: Secrets };

const noVariables = () =>
  unsupported(
    'auth.type',
    'credentials of the type environment_variable are not served: no proxy puts them into requests',
  );

/** Throws ManagedError. `now`: milliseconds since the epoch. */
export function readAuth(auth: NewAuth, now: number): Auth {
  if (auth.type === 'environment_variable') throw noVariables();
  const { type, mcp_server_url } = auth;
  if (type === 'static_bearer') return { auth: { type, mcp_server_url }, secrets: { token: auth.token } };
  const { access_token: token, refresh } = auth;
  const expires_at = readExpiry(auth.expires_at, now);
  if (!refresh) return { auth: { type, mcp_server_url, expires_at, refresh: null }, secrets: { token } };
  const { refresh_token: refreshToken, token_endpoint_auth: endpointAuth, resource, scope, ...fixed } = refresh;
  const stored = {
    ...fixed,
    token_endpoint_auth: { type: endpointAuth.type },
    resource: resource || null,
    scope: scope || null,
  };
  return {
    auth: { type, mcp_server_url, expires_at, refresh: stored },
    secrets: {
      token,
      refreshToken,
      ...('client_secret' in endpointAuth && { clientSecret: endpointAuth.client_secret }),
    },
  };
}

function readExpiry(micros: number | null | undefined, now: number): string | null {
  if (micros === undefined || micros === null) return null;
  if (micros / 1000 <= now) throw invalid('auth.expires_at: give a time in the future', 'auth.expires_at');
  return formatTime(Math.floor(micros / 1000));
}

/** Applies an update: absent and null fields stay as they are. Throws ManagedError. */
export function changeAuth({ auth, secrets }: Auth, update: AuthUpdate, now: number): Auth {
  if (update.type === 'environment_variable') throw noVariables();
  if (update.type !== auth.type) throw invalid(`auth.type: the credential is of the type ${auth.type}`, 'auth.type');
  if (update.type === 'static_bearer') return { auth, secrets: { ...secrets, token: update.token ?? secrets.token } };
  if (auth.type !== 'mcp_oauth') return { auth, secrets };
  const { access_token, refresh } = update;
  const expires_at = readExpiry(update.expires_at, now) ?? auth.expires_at;
  const changed = { ...secrets, token: access_token ?? secrets.token };
  if (!refresh) return { auth: { ...auth, expires_at }, secrets: changed };
  if (!auth.refresh) throw invalid('auth.refresh: the credential was created without one', 'auth.refresh');
  const { refresh_token, scope, token_endpoint_auth: endpointAuth } = refresh;
  if (endpointAuth?.client_secret && secrets.clientSecret === undefined)
    throw invalid(
      'auth.refresh.token_endpoint_auth: the credential has no client secret to replace',
      'auth.refresh.token_endpoint_auth',
    );
  const clientSecret = endpointAuth?.client_secret ?? secrets.clientSecret;
  const nextScope = scope === '' ? null : (scope ?? auth.refresh.scope);
  return {
    auth: { ...auth, expires_at, refresh: { ...auth.refresh, scope: nextScope } },
    secrets: {
      ...changed,
      refreshToken: refresh_token ?? secrets.refreshToken,
      ...(clientSecret !== undefined && { clientSecret }),
    },
  };
}
