// Vaults in a store: sealed secrets, the first vault that has a credential, and claims of a refresh.
import { expect, test } from 'vitest';
import { openSecrets, sealSecrets } from '../../../store/vaults/sealed-secrets.ts';
import { type CredentialItem, findKeptSecrets, Vaults } from '../../../store/vaults/vaults.ts';
import { memoryKeys } from '../../support/memory-keys.ts';
import { memoryStore } from '../../support/memory-store.ts';

const dates = { created_at: '2026-01-01T00:00:00Z', updated_at: '2026-01-01T00:00:00Z', archived_at: null };
const [ana, ben] = ['vlt_ana', 'vlt_ben'];
const SHOP = 'https://shop.example/mcp';

async function twoVaults(clock = { now: 1_000 }) {
  const store = memoryStore();
  const vaults = new Vaults({ store, now: () => clock.now, keys: memoryKeys() });
  const add = async (vault: string, id: string, changes: Partial<CredentialItem> = {}): Promise<string> => {
    const auth = { type: 'static_bearer', mcp_server_url: SHOP } as const;
    const secret = await vaults.writeSecrets({ vault, id }, auth, { token: `token of ${id}` });
    const fields = { display_name: null, metadata: {}, auth, secret, version: 1 };
    await vaults.credentials(vault).append('ana', () => ({ id, item: { ...dates, ...fields, ...changes } }));
    return secret;
  };
  for (const vault of [ana, ben]) {
    const item = { ...dates, display_name: vault, metadata: {} };
    await vaults.heads.append('ana', () => ({ id: vault, item }));
  }
  return { store, vaults, add, clock };
}

test('secrets open for their credential and its addresses alone, with the key that sealed them (G65)', () => {
  const keys = memoryKeys();
  const secrets = { token: 't', refreshToken: 'r' };
  const sealed = sealSecrets(keys, ['v', 'c', SHOP], secrets);
  expect(openSecrets(keys, ['v', 'c', SHOP], sealed)).toEqual(secrets);
  expect(() => openSecrets(keys, ['v', 'c', 'https://evil.example/'], sealed)).toThrow('was not sealed for it');
  expect(() => openSecrets(memoryKeys(), ['v', 'c', SHOP], sealed)).toThrow('was not sealed for it');
  expect(() => openSecrets(memoryKeys('ffffffff'), ['v', 'c', SHOP], sealed)).toThrow(
    'is sealed with key 0a1b2c3d, which is not in keys.json',
  );
  expect(() => openSecrets(keys, ['v', 'c', SHOP], sealed.subarray(0, 9))).toThrow('is damaged');
});

test('the first vault with a credential for the address wins, and what is archived has none (G65)', async () => {
  const { vaults, add } = await twoVaults();
  await add(ana, 'vcrd_1');
  await add(ben, 'vcrd_2');
  const found = async (...ids: string[]) => (await vaults.find(ids, SHOP))?.id ?? null;
  expect([await found(ana, ben), await found(ben, ana), await found('vlt_none', ben)]).toEqual([
    'vcrd_1',
    'vcrd_2',
    'vcrd_2',
  ]);
  expect(await vaults.find([ana], 'https://shop.example/mcp/')).toBeNull();
  await add(ana, 'vcrd_1', { archived_at: '2026-01-02T00:00:00Z' });
  expect([await found(ana, ben), await found(ana)]).toEqual(['vcrd_2', null]);
  const item = { ...dates, display_name: ben, metadata: {}, archived_at: '2026-01-02T00:00:00Z' };
  await vaults.heads.append('ana', () => ({ id: ben, item }));
  expect(await found(ana, ben)).toBeNull();
  expect(await vaults.credential({ vault: ben, id: 'vcrd_2' })).toBeNull();
});

test('of all who claim a refresh one has it, until it ends or lapses (G65)', async () => {
  const { vaults, add, clock, store } = await twoVaults();
  const secret = await add(ana, 'vcrd_1');
  const name = { vault: ana, id: 'vcrd_1' };
  const others = new Vaults({ store, now: () => clock.now, keys: undefined });
  const claims = await Promise.all(
    [vaults, others].map((one, n) => one.claimRefresh(name, secret, { by: `w${n}`, until: 5_000 })),
  );
  expect(claims.filter(Boolean)).toHaveLength(1);
  clock.now = 5_000;
  expect(await others.claimRefresh(name, secret, { by: 'w3', until: 9_000 })).toBe(true);
  // The claim that lapsed ends nothing, and whoever has a newer secret keeps it.
  await vaults.endRefresh(name, { secret, by: 'w0' }, { refused: 'gone' });
  expect((await vaults.credential(name))?.item).toMatchObject({ refreshing: { by: 'w3' } });
  await others.endRefresh(name, { secret, by: 'w3' }, { secret: 'newer' });
  await vaults.endRefresh(name, { secret, by: 'w0' }, { secret: 'late' });
  expect((await vaults.credential(name))?.item).toMatchObject({ secret: 'newer' });
  expect(await vaults.claimRefresh(name, secret, { by: 'w4', until: 9_000 })).toBe(false);
});

test('a cleaning keeps the secrets that credentials hold, and nothing of vaults that are gone (G65 W4)', async () => {
  const { vaults, add, store } = await twoVaults();
  const [old, held, other] = [await add(ana, 'vcrd_1'), await add(ana, 'vcrd_1'), await add(ben, 'vcrd_2')];
  await vaults.heads.append('ana', () => ({ id: ben, item: null }));
  const isKept = await findKeptSecrets(store, Date.now);
  const keys = [
    `vault-secrets/${ana}/${old}`,
    `vault-secrets/${ana}/${held}`,
    `vault-secrets/${ben}/${other}`,
    `managed/vault-credentials-${ana}/1`,
    `managed/vault-credentials-${ben}/1`,
    'managed/vaults/1',
  ];
  expect(keys.map((key) => isKept(key))).toEqual([false, true, false, true, false, undefined]);
});
