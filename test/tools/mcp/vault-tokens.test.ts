// Tokens of vaults' credentials: refreshed once by whoever is first, refused, and after a kill.
import { expect, test } from 'vitest';
import { checkCredential } from '../../../tools/mcp/check-credential.ts';
import { findToken, RefreshFailed, type TokenMeans } from '../../../tools/mcp/vault-tokens.ts';
import { type FoundCredential, type TokenRefresh, Vaults } from '../../../store/vaults/vaults.ts';
import { oddAddress } from '../../support/mcp/addresses.ts';
import { tokenEndpoint } from '../../support/mcp/token-endpoint.ts';
import { memoryKeys } from '../../support/memory-keys.ts';
import { memoryStore } from '../../support/memory-store.ts';

const dates = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', archived_at: null };
const name = { vault: 'vlt_1', id: 'vcrd_1' };

type Options = {
  readonly expiresInMs?: number;
  readonly refresh?: Partial<TokenRefresh> | null;
  readonly server?: string;
};

/** A credential, and two processes that have the same store. */
async function credential(
  url: string,
  { expiresInMs, refresh = {}, server = 'https://shop.example/mcp' }: Options = {},
) {
  const [store, keys, clock] = [memoryStore(), memoryKeys(), { ahead: 0 }];
  const now = (): number => Date.now() + clock.ahead;
  const auth = {
    type: 'mcp_oauth',
    mcp_server_url: server,
    expires_at: expiresInMs === undefined ? null : new Date(Date.now() + expiresInMs).toISOString(),
    refresh: refresh && {
      client_id: 'perdure: it',
      token_endpoint: url,
      token_endpoint_auth: { type: 'client_secret_basic' as const },
      resource: null,
      scope: null,
      ...refresh,
    },
  } as const;
  const means = (): TokenMeans => ({
    vaults: new Vaults({ store, now, keys }),
    fetch,
    now,
    bounds: { requestMs: 5_000, claimMs: 60_000 },
  });
  const first = means();
  const { vaults } = first;
  const secret = await vaults.writeSecrets(name, auth, {
    token: 'access-1',
    refreshToken: 'refresh-1',
    clientSecret: 'sesame %',
  });
  const labels = { display_name: null, metadata: {} };
  await vaults.heads.append('ana', () => ({ id: name.vault, item: { ...dates, ...labels, display_name: 'Ana' } }));
  const item = { ...dates, ...labels, auth, secret, version: 1 };
  await vaults.credentials(name.vault).append('ana', () => ({ id: name.id, item }));
  const found: FoundCredential = { ...name, item };
  return { first, second: means(), found, clock, secret };
}

const stored = async ({ vaults }: TokenMeans) => {
  const found = await vaults.credential(name);
  return { item: found!.item, secrets: await vaults.readSecrets(found!) };
};

test('a token that holds is used as it is, and one that expired or was refused is refreshed (G65)', async () => {
  const endpoint = await tokenEndpoint({ expiresIn: 3_600 });
  const held = await credential(endpoint.url, { expiresInMs: 60_000 });
  expect(await findToken(held.first, held.found)).toBe('access-1');
  expect(endpoint.asked).toHaveLength(0);
  expect(await findToken(held.first, held.found, { refused: 'access-1' })).toBe('access-2');
  expect(await findToken(held.second, held.found, { refused: 'access-1' })).toBe('access-2');
  const { item, secrets } = await stored(held.second);
  expect(secrets).toEqual({ token: 'access-2', refreshToken: 'refresh-2', clientSecret: 'sesame %' });
  expect(item.version).toBe(1);
  held.clock.ahead = 3_600_000;
  expect(await findToken(held.first, held.found)).toBe('access-3');
  const [{ form, authorization } = {}] = endpoint.asked;
  expect(Object.fromEntries(form!)).toEqual({ grant_type: 'refresh_token', refresh_token: 'refresh-1' });
  expect(Buffer.from(authorization!.slice('Basic '.length), 'base64').toString()).toBe('perdure%3A+it:sesame+%25');
});

test('a client authenticates as its credential says, and names what it asks for (G65)', async () => {
  for (const type of ['none', 'client_secret_post'] as const) {
    const endpoint = await tokenEndpoint();
    const parts = { token_endpoint_auth: { type }, resource: 'https://shop.example', scope: 'a b' };
    const { first, found } = await credential(endpoint.url, { refresh: parts });
    await findToken(first, found, { refused: 'access-1' });
    expect(endpoint.asked[0]?.authorization).toBeUndefined();
    expect(Object.fromEntries(endpoint.asked[0]!.form)).toMatchObject({
      client_id: 'perdure: it',
      resource: 'https://shop.example',
      scope: 'a b',
    });
    expect(endpoint.asked[0]?.form.get('client_secret')).toBe(type === 'none' ? null : 'sesame %');
  }
});

test('of two processes one spends the refresh token, and the other gets what came of it (G65)', async () => {
  const endpoint = await tokenEndpoint({ expiresIn: 3_600 });
  const { first, second, found } = await credential(endpoint.url, { expiresInMs: -1 });
  const all = await Promise.all([first, second, first, second].map((means) => findToken(means, found)));
  expect(new Set(all)).toEqual(new Set(['access-2']));
  expect(endpoint.asked).toHaveLength(1);
});

test('a grant that is gone is asked for once, and the error says what to do, without a secret (G65)', async () => {
  const endpoint = await tokenEndpoint({
    before: (form) => ({
      status: 400,
      body: { error: 'invalid_grant', error_description: `${form.get('refresh_token')} ended` },
    }),
  });
  const { first, second, found } = await credential(endpoint.url, { expiresInMs: -1 });
  const problem =
    'the token of credential vcrd_1 could not be refreshed (HTTP status 400: invalid_grant: [redacted] ended): authorize it anew';
  await expect(findToken(first, found)).rejects.toThrow(problem);
  await expect(findToken(second, found)).rejects.toThrow(problem);
  expect(endpoint.asked).toHaveLength(1);
});

test('an endpoint that fails for now is asked again, and its claim is given back (G65)', async () => {
  let failures = 1;
  const endpoint = await tokenEndpoint({ before: () => (failures-- > 0 ? { status: 503, body: {} } : undefined) });
  const { first, second, found } = await credential(endpoint.url, { expiresInMs: -1 });
  await expect(findToken(first, found)).rejects.toMatchObject({ isFinal: false, response: { status_code: 503 } });
  expect(await findToken(second, found)).toBe('access-2');
  const gone = await credential('http://127.0.0.1:1/token', { expiresInMs: -1 });
  const failed = await findToken(gone.first, gone.found).catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(RefreshFailed);
  expect(failed).toMatchObject({ isFinal: false, response: null });
});

test('the claim of a process that died lapses, and the next sends the refresh token again (G65)', async () => {
  const endpoint = await tokenEndpoint({ expiresIn: 3_600 });
  const { first, second, found, secret, clock } = await credential(endpoint.url, { expiresInMs: -1 });
  await first.vaults.claimRefresh(name, secret, { by: 'dead', until: first.now() + 60_000 });
  const waiting = findToken(second, found);
  clock.ahead = 60_000;
  expect(await waiting).toBe('access-2');
});

test('a credential that is gone has no token (G65)', async () => {
  const { first, second, found } = await credential('http://127.0.0.1:1/token');
  const archived = { ...found.item, archived_at: '2026-01-02T00:00:00Z', secret: null };
  await first.vaults.credentials(name.vault).append('ana', () => ({ id: name.id, item: archived }));
  await expect(findToken(second, found)).rejects.toThrow('credential vcrd_1 was archived or deleted');
});

test('a check connects with the token, refreshes it after a 401, and says whether that helped (G65)', async () => {
  const endpoint = await tokenEndpoint();
  const odd = await oddAddress({ token: () => `Bearer ${endpoint.current()}` });
  const server = odd.settings.url;
  const { first, found } = await credential(endpoint.url, { server });
  expect(await checkCredential(first, found)).toEqual({ status: 'valid', mcp_probe: null, refresh: null });
  const late = await tokenEndpoint({ expiresIn: 60 });
  const strict = await oddAddress({ token: () => 'Bearer access-2' });
  const spent = await credential(late.url, { server: strict.settings.url });
  const succeeded = { status: 'succeeded', http_response: null };
  expect(await checkCredential(spent.first, spent.found)).toEqual({
    status: 'valid',
    mcp_probe: null,
    refresh: succeeded,
  });
  const refused = {
    method: 'initialize',
    http_response: { status_code: 401, content_type: '', body: 'no', body_truncated: false },
  };
  const bare = await credential(late.url, { server: strict.settings.url, refresh: null });
  expect(await checkCredential(bare.first, bare.found)).toEqual({
    status: 'invalid',
    mcp_probe: refused,
    refresh: { status: 'no_refresh_token', http_response: null },
  });
  const revoked = await credential(late.url, { server: strict.settings.url });
  expect(await checkCredential(revoked.first, revoked.found)).toMatchObject({
    status: 'invalid',
    mcp_probe: refused,
    refresh: { status: 'failed', http_response: { status_code: 400 } },
  });
  const nowhere = await credential(late.url, { server: 'http://127.0.0.1:1/mcp' });
  const unknown = { status: 'unknown', mcp_probe: { method: 'initialize', http_response: null }, refresh: null };
  expect(await checkCredential(nowhere.first, nowhere.found)).toEqual(unknown);
  const cut = await credential('http://127.0.0.1:1/token', { server: strict.settings.url });
  expect(await checkCredential(cut.first, cut.found)).toMatchObject({
    status: 'unknown',
    refresh: { status: 'connect_error', http_response: null },
  });
});

test.each([{ refresh_token: null }, { expires_in: 0 }, { expires_in: null }, { expires_in: '' }])(
  'a token that is granted with %j is used, and no check shows what was granted (G65)',
  async (more) => {
    const granted = { access_token: 'fresh-access', refresh_token: 'fresh-refresh', token_type: 'Bearer', ...more };
    const endpoint = await tokenEndpoint({ before: () => ({ status: 201, body: granted }) });
    const odd = await oddAddress({ token: () => 'Bearer other' });
    const { first, found } = await credential(endpoint.url, { server: odd.settings.url });
    const checked = await checkCredential(first, found);
    expect(checked.refresh).toMatchObject({ status: 'succeeded' });
    expect(JSON.stringify(checked)).not.toContain('fresh-');
    expect((await stored(first)).secrets).toMatchObject({
      token: 'fresh-access',
      refreshToken: 'refresh_token' in more ? 'refresh-1' : 'fresh-refresh',
    });
  },
);

test('a success without a token shows nothing of its body (G65)', async () => {
  const endpoint = await tokenEndpoint({ before: () => ({ status: 200, body: { refresh_token: 'fresh-refresh' } }) });
  const { first, found } = await credential(endpoint.url);
  const failed = await findToken(first, found, { refused: 'access-1' }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ name: 'RefreshFailed', response: { status_code: 200, body: '' } });
});

test('a store that fails after the grant is tried again, and the refresh token is spent once (G65)', async () => {
  const endpoint = await tokenEndpoint();
  const { first, second, found } = await credential(endpoint.url);
  const write = first.vaults.writeSecrets.bind(first.vaults);
  let isAway = true;
  first.vaults.writeSecrets = (...given) => {
    if (!isAway) return write(...given);
    isAway = false;
    return Promise.reject(new Error('the store is away'));
  };
  expect(await findToken(first, found, { refused: 'access-1' })).toBe('access-2');
  expect(await findToken(second, found, { refused: 'access-1' })).toBe('access-2');
  expect([endpoint.asked.length, endpoint.isGone()]).toEqual([1, false]);
});
