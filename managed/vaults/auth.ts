// What a credential sends, apart from its secrets (G65): read from a new one, and changed.
import type { CredentialAuth, Secrets } from '../../client/faces/types.ts';
import { invalid, unsupported } from '../errors.ts';
import { formatTime } from '../ids.ts';
import type { AuthUpdate, NewAuth } from '../shapes/vaults.ts';

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
  const kept = {
    ...fixed,
    token_endpoint_auth: { type: endpointAuth.type },
    resource: resource || null,
    scope: scope || null,
  };
  return {
    auth: { type, mcp_server_url, expires_at, refresh: kept },
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

/** What is absent or null stays. Throws ManagedError. */
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
