// Vaults and their credentials as the SDK sees them, on a staged server.
import type { CredentialCreateParams } from '@anthropic-ai/sdk/resources/beta/vaults/credentials';
import { describe, expect, test } from 'vitest';
import type { ManagedPorts } from '../../managed/ports.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { filesWith } from '../support/files-with.ts';
import { oddAddress } from '../support/mcp/addresses.ts';
import { tokenEndpoint } from '../support/mcp/token-endpoint.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';
import { AGENT, codeOf, collect, errorOf, HEADERS, post, stagedManaged, text, token } from './staged.ts';

const SHOP = 'https://shop.example/mcp';
const bearer = (secret = 'sesame-token', mcp_server_url = SHOP) => ({
  type: 'static_bearer' as const,
  mcp_server_url,
  token: secret,
});

const oauth = (mcp_server_url: string, token_endpoint: string) => ({
  type: 'mcp_oauth' as const,
  mcp_server_url,
  access_token: 'access-1',
  expires_at: '2099-12-31T23:59:59Z',
  refresh: {
    client_id: 'perdure',
    token_endpoint,
    token_endpoint_auth: { type: 'client_secret_post' as const, client_secret: 'sesame-client' },
    refresh_token: 'refresh-1',
    scope: 'a b',
  },
});

async function openVault(changes: Partial<ManagedPorts> = {}) {
  const staged = stagedManaged(changes);
  const { vaults } = staged.client.beta;
  const vault = await vaults.create({ display_name: 'Ana', metadata: { user: 'u1' } });
  const { credentials } = vaults;
  const add = (auth: CredentialCreateParams['auth'], more: object = {}) =>
    credentials.create(vault.id, { auth, ...more });
  return { ...staged, vaults, credentials, vault, add, at: { vault_id: vault.id } };
}

describe('a vault', () => {
  test('lives from its creation to its deletion (G65)', async () => {
    const { vaults, vault } = await openVault();
    expect(vault).toMatchObject({ type: 'vault', display_name: 'Ana', metadata: { user: 'u1' }, archived_at: null });
    expect(vault.id).toMatch(/^vlt_/);
    const changed = await vaults.update(vault.id, { display_name: 'Ana B.', metadata: { user: null, team: 'x' } });
    expect(changed).toMatchObject({ display_name: 'Ana B.', metadata: { team: 'x' } });
    expect(await vaults.update(vault.id, { display_name: null })).toEqual(changed);
    expect(await vaults.retrieve(vault.id)).toEqual(changed);
    const later = await vaults.create({ display_name: 'Ben' });
    expect((await collect(vaults.list({ limit: 1 }))).map(({ id }) => id)).toEqual([later.id, vault.id]);
    const archived = await vaults.archive(vault.id);
    expect(await vaults.archive(vault.id)).toEqual(archived);
    expect((await collect(vaults.list())).map(({ id }) => id)).toEqual([later.id]);
    expect(await collect(vaults.list({ include_archived: true }))).toHaveLength(2);
    expect(codeOf(await errorOf(vaults.update(vault.id, { display_name: 'x' })))).toBe('vault_archived');
    expect(await vaults.delete(vault.id)).toEqual({ id: vault.id, type: 'vault_deleted' });
    expect((await errorOf(vaults.retrieve(vault.id))).status).toBe(404);
  });

  test('is changed by who may steer and read by who may look (G19)', async () => {
    const { as, vault, add, at } = await openVault();
    const credential = await add(bearer());
    const looker = as(token('look')).beta.vaults;
    expect((await looker.retrieve(vault.id)).id).toBe(vault.id);
    expect((await looker.credentials.retrieve(credential.id, at)).id).toBe(credential.id);
    for (const refused of [
      looker.create({ display_name: 'x' }),
      looker.credentials.create(vault.id, { auth: bearer() }),
      looker.credentials.mcpOAuthValidate(credential.id, at),
      looker.credentials.delete(credential.id, at),
    ])
      expect((await errorOf(refused)).status).toBe(403);
  });

  test('takes its credentials along when it is archived or deleted (G65)', async () => {
    const { vaults, credentials, vault, add, at } = await openVault();
    const { id } = await add(bearer());
    await vaults.archive(vault.id);
    expect((await credentials.retrieve(id, at)).archived_at).not.toBeNull();
    expect(codeOf(await errorOf(add(bearer())))).toBe('vault_archived');
    await vaults.delete(vault.id);
    for (const gone of [credentials.retrieve(id, at), credentials.list(vault.id).then(), credentials.delete(id, at)])
      expect((await errorOf(gone)).status).toBe(404);
  });
});

describe('a credential', () => {
  test('lives from its creation to its deletion, and no answer has its secrets (G65)', async () => {
    const { credentials, vault, add, at } = await openVault();
    const made = await add(oauth(SHOP, 'https://id.example/token'), { display_name: 'Shop', metadata: { a: 'b' } });
    const { refresh_token: _, token_endpoint_auth: __, ...kept } = oauth(SHOP, 'https://id.example/token').refresh;
    expect(made).toEqual({
      id: expect.stringMatching(/^vcrd_/) as unknown,
      type: 'vault_credential',
      vault_id: vault.id,
      display_name: 'Shop',
      metadata: { a: 'b' },
      auth: {
        type: 'mcp_oauth',
        mcp_server_url: SHOP,
        expires_at: '2099-12-31T23:59:59.000Z',
        refresh: { ...kept, token_endpoint_auth: { type: 'client_secret_post' }, resource: null },
      },
      created_at: made.created_at,
      updated_at: made.created_at,
      archived_at: null,
    });
    expect(await credentials.retrieve(made.id, at)).toEqual(made);
    const plain = await add(bearer('sesame', 'https://other.example/'));
    expect((await collect(credentials.list(vault.id))).map(({ id }) => id)).toEqual([plain.id, made.id]);
    const archived = await credentials.archive(made.id, at);
    expect(archived).toMatchObject({ auth: made.auth, archived_at: expect.any(String) as unknown });
    expect((await collect(credentials.list(vault.id))).map(({ id }) => id)).toEqual([plain.id]);
    expect(await collect(credentials.list(vault.id, { include_archived: true }))).toHaveLength(2);
    const late = credentials.update(made.id, { ...at, display_name: 'x' });
    expect(codeOf(await errorOf(late))).toBe('vault_credential_archived');
    expect(await credentials.delete(plain.id, at)).toEqual({ id: plain.id, type: 'vault_credential_deleted' });
    expect((await errorOf(credentials.retrieve(plain.id, at))).status).toBe(404);
  });

  test('is the only one of its vault for an address, and one of twenty at most (G65)', async () => {
    const { vaults, credentials, vault, add, at } = await openVault();
    const first = await add(bearer());
    const second = await errorOf(add(bearer('x', 'https://SHOP.example:443/mcp')));
    expect([second.status, codeOf(second)]).toEqual([409, 'vault_credential_exists']);
    await credentials.archive(first.id, at);
    for (let n = 0; n < 20; n += 1) await add(bearer('x', `https://shop.example/${n}`));
    expect((await errorOf(add(bearer()))).message).toContain('at most 20 credentials');
    const other = await vaults.create({ display_name: 'Ben' });
    expect(await credentials.create(other.id, { auth: bearer() })).toMatchObject({ vault_id: other.id });
    expect((await errorOf(credentials.retrieve(first.id, { vault_id: other.id }))).status).toBe(404);
    expect(await collect(credentials.list(vault.id))).toHaveLength(20);
  });

  test('changes what it sends, and neither its type nor where it is sent (G65)', async () => {
    const { credentials, add, at } = await openVault();
    const made = await add(oauth(SHOP, 'https://id.example/token'));
    const update = (auth: object) => credentials.update(made.id, { ...at, auth: auth as never });
    const changed = await update({
      type: 'mcp_oauth',
      access_token: 'newer',
      expires_at: '2098-01-01T00:00:00Z',
      refresh: {
        refresh_token: 'newer',
        scope: '',
        token_endpoint_auth: { type: 'client_secret_basic', client_secret: 's2' },
      },
    });
    expect(changed.auth).toMatchObject({
      expires_at: '2098-01-01T00:00:00.000Z',
      refresh: { scope: null, token_endpoint_auth: { type: 'client_secret_post' } },
    });
    const renamed = await credentials.update(made.id, { ...at, display_name: 'Shop', metadata: { a: 'b' } });
    expect(renamed).toMatchObject({ auth: changed.auth, display_name: 'Shop', metadata: { a: 'b' } });
    for (const [auth, param] of [
      [{ type: 'static_bearer', token: 'x' }, 'auth.type'],
      [{ type: 'mcp_oauth', expires_at: '2001-01-01T00:00:00Z' }, 'auth.expires_at'],
      [{ type: 'mcp_oauth', mcp_server_url: SHOP }, 'auth.mcp_server_url'],
    ] as const)
      expect((await errorOf(update(auth))).error).toMatchObject({ error: { details: { param } } });
    const plain = await add({ type: 'mcp_oauth', mcp_server_url: 'https://b.example/', access_token: 'x' });
    const refresh = credentials.update(plain.id, { ...at, auth: { type: 'mcp_oauth', refresh: { scope: 'x' } } });
    expect((await errorOf(refresh)).message).toContain('created without one');
  });

  test.each([
    [
      'auth.type',
      { type: 'environment_variable', secret_name: 'X', secret_value: 'sesame', networking: { type: 'unrestricted' } },
    ],
    ['auth.mcp_server_url', bearer('sesame', 'ftp://shop.example')],
    ['auth.mcp_server_url', bearer('sesame', 'https://ana:sesame@shop.example/')],
    ['auth.token', bearer('two words of sesame')],
    ['auth.expires_at', { ...oauth(SHOP, 'https://id.example/'), expires_at: '2001-01-01T00:00:00Z' }],
  ])('is refused by name for a wrong %s, which the error does not repeat (G16 G65)', async (param, auth) => {
    const { ask, vault } = await openVault();
    const response = await ask(`/vaults/${vault.id}/credentials`, post({ auth }));
    const body = await response.text();
    expect([response.status, JSON.parse(body)]).toMatchObject([400, { error: { details: { param } } }]);
    expect(body).not.toContain('sesame');
  });

  test('is refused without keys to seal it, with what to set (G65)', async () => {
    const { add } = await openVault({ keys: undefined });
    const refused = await errorOf(add(bearer()));
    expect([refused.status, codeOf(refused)]).toEqual([400, 'perdure_no_keys']);
    expect(refused.message).toContain('set PERDURE_CODEC_KEYS');
  });

  test('is created once by a request that is repeated, and its secrets are nowhere as they are (G21 G65)', async () => {
    const dir = tempDir();
    const logged: string[] = [];
    const { ask, vault, credentials, add } = await openVault({
      store: fileStore({ dir }),
      log: (line) => void logged.push(line),
    });
    const path = `/vaults/${vault.id}/credentials`;
    const keyed = { ...HEADERS, 'idempotency-key': 'k1' };
    const [one, two] = [
      await ask(path, post({ auth: bearer() }, keyed)),
      await ask(path, post({ auth: bearer() }, keyed)),
    ];
    expect(await two.json()).toEqual(await one.json());
    const other = await ask(path, post({ auth: bearer('sesame-other') }, keyed));
    expect(await other.text()).toContain('idempotency_key_reused');
    await add(oauth('https://b.example/', 'https://id.example/token'));
    expect(await collect(credentials.list(vault.id))).toHaveLength(2);
    for (const secret of ['sesame-token', 'sesame-other', 'sesame-client', 'access-1', 'refresh-1'])
      expect([filesWith(dir, secret), JSON.stringify(logged).includes(secret)]).toEqual([[], false]);
  });

  test('is validated against its server, and tells what was answered (G65)', async () => {
    const endpoint = await tokenEndpoint({ expiresIn: 3_600 });
    const odd = await oddAddress({ token: () => 'Bearer access-2' });
    const { credentials, add, at } = await openVault({ fetch });
    const made = await add(oauth(odd.settings.url, endpoint.url));
    expect(await credentials.mcpOAuthValidate(made.id, at)).toMatchObject({
      type: 'vault_credential_validation',
      credential_id: made.id,
      status: 'valid',
      has_refresh_token: true,
      mcp_probe: null,
      refresh: { status: 'succeeded', http_response: null },
      ...at,
    });
    const renewed = await credentials.retrieve(made.id, at);
    expect(renewed.auth).not.toEqual(made.auth);
    // A change by hand goes on from what the refresh left.
    await credentials.update(made.id, { ...at, auth: { type: 'mcp_oauth', access_token: 'wrong' } });
    expect(await credentials.mcpOAuthValidate(made.id, at)).toMatchObject({ status: 'invalid' });
    expect(endpoint.asked.map(({ form }) => form.get('refresh_token'))).toEqual(['refresh-1', 'refresh-2']);
    const plain = await add(bearer('x', 'https://b.example/'));
    expect((await errorOf(credentials.mcpOAuthValidate(plain.id, at))).message).toContain('validate one of mcp_oauth');
  });
});

describe('a session', () => {
  const mcp = {
    ...AGENT,
    mcp_servers: [{ type: 'url' as const, name: 'shop', url: SHOP }],
    tools: [{ type: 'mcp_toolset' as const, mcp_server_name: 'shop' }],
  };

  test('has the vaults that it was created with, and its run their ids alone (G25 G65)', async () => {
    const { client, vault, vaults, add, calls } = await openVault();
    await add(bearer());
    const other = await vaults.create({ display_name: 'Ben' });
    const agent = await client.beta.agents.create(mcp);
    const vault_ids = [other.id, vault.id];
    const session = await client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default', vault_ids });
    expect(session.vault_ids).toEqual(vault_ids);
    expect((await client.beta.sessions.retrieve(session.id)).vault_ids).toEqual(vault_ids);
    await client.beta.sessions.events.send(session.id, { events: [text('Go.')] });
    expect(calls[0]?.[4]).toMatchObject({ ifNew: { mcpServers: [{ name: 'shop', url: SHOP, vaults: vault_ids }] } });
    expect(JSON.stringify(calls)).not.toContain('sesame');
    const changed = await errorOf(client.beta.sessions.update(session.id, { vault_ids: [vault.id] }));
    expect(codeOf(changed)).toBe('perdure_unsupported');
  });

  test('is refused for vaults that are archived, unknown or named twice (G65)', async () => {
    const { client, vault, vaults } = await openVault();
    const agent = await client.beta.agents.create(mcp);
    const create = (...vault_ids: string[]) =>
      errorOf(client.beta.sessions.create({ agent: agent.id, environment_id: 'env_default', vault_ids }));
    expect((await create(vault.id, vault.id)).message).toContain('named twice');
    expect((await create('v')).status).toBe(400);
    expect((await create(`vlt_${'0'.repeat(26)}`)).status).toBe(404);
    await vaults.archive(vault.id);
    expect(codeOf(await create(vault.id))).toBe('vault_archived');
  });
});

test('an update waits for a refresh under way, whose tokens it keeps (G65)', async () => {
  const gates: (() => void)[] = [];
  const endpoint = await tokenEndpoint({
    before: () =>
      gates.length > 0 ? undefined : new Promise<undefined>((resolve) => gates.push(() => resolve(undefined))),
  });
  const odd = await oddAddress({ token: () => 'Bearer access-2' });
  const { credentials, add, at } = await openVault({ fetch });
  const { id } = await add(oauth(odd.settings.url, endpoint.url));
  const checking = credentials.mcpOAuthValidate(id, at);
  await until(() => gates.length === 1);
  const updating = credentials.update(id, { ...at, auth: { type: 'mcp_oauth', refresh: { scope: 'c' } } });
  gates[0]?.();
  expect(await checking).toMatchObject({ status: 'valid', refresh: { status: 'succeeded' } });
  expect(await updating).toMatchObject({ auth: { refresh: { scope: 'c' } } });
  expect(await credentials.mcpOAuthValidate(id, at)).toMatchObject({ status: 'valid', refresh: null });
  expect([endpoint.asked.length, endpoint.isGone()]).toEqual([1, false]);
});
