// Vaults and their credentials as resources (G65). A secret is sealed before it is stored, and no
// answer has one.
import { setTimeout as sleep } from 'node:timers/promises';
import type { z } from 'zod';
import type { BetaManagedAgentsCredential, BetaManagedAgentsVault } from '@anthropic-ai/sdk/resources/beta/vaults';
import { MOST_VAULTS } from '../../client/faces/outside.ts';
import type { CredentialItem, CredentialName, Resources, VaultItem } from '../../client/faces/types.ts';
import { checkCredential, serverOf, Vaults } from '../../client/faces/vaults.ts';
import { DatedResources } from '../dated-resources.ts';
import { conflict, invalid, ManagedError } from '../errors.ts';
import { isId } from '../ids.ts';
import type { ManagedPorts } from '../ports.ts';
import { patchMetadata } from '../shapes/parse.ts';
import {
  type Auth,
  changeAuth,
  type credentialCreate,
  type credentialUpdate,
  readAuth,
  type vaultCreate,
  type vaultUpdate,
} from '../shapes/vaults.ts';

const MOST_CREDENTIALS = 20;
/** Milliseconds between looks whether a refresh is over. */
const LOOK_MS = 250;

const refuseVault = (id: string): ManagedError =>
  invalid(`vault ${id} is archived: it can be read and deleted alone`, undefined, 'vault_archived');
const refuseCredential = (id: string): ManagedError =>
  invalid(`credential ${id} is archived: its secret is gone`, undefined, 'vault_credential_archived');

type CredentialCreate = z.output<typeof credentialCreate>;
type CredentialUpdate = z.output<typeof credentialUpdate>;

export class VaultResources {
  readonly #ports: Pick<ManagedPorts, 'now' | 'fetch'>;
  readonly #vaults: Vaults;
  readonly #heads: DatedResources<VaultItem>;

  constructor(ports: Pick<ManagedPorts, 'store' | 'now' | 'keys' | 'fetch'>) {
    const { now } = ports;
    this.#ports = ports;
    this.#vaults = new Vaults(ports);
    this.#heads = new DatedResources({ log: this.#vaults.heads, kind: 'Vault', now, archived: refuseVault });
  }

  /** A repeated request with the same `id` creates nothing new. Throws 404 once it was deleted. */
  async create(id: string, by: string, body: z.output<typeof vaultCreate>): Promise<BetaManagedAgentsVault> {
    const { display_name, metadata = {} } = body;
    return showVault(id, await this.#heads.create(id, by, { display_name, metadata }));
  }

  /** Throws ManagedError 404. */
  async retrieve(id: string): Promise<BetaManagedAgentsVault> {
    return showVault(id, await this.#heads.retrieve(id));
  }

  /** Throws ManagedError when it is archived. */
  async requireOpen(id: string): Promise<void> {
    await this.#heads.requireOpen(id);
  }

  async update(id: string, by: string, body: z.output<typeof vaultUpdate>): Promise<BetaManagedAgentsVault> {
    const change = (item: VaultItem): VaultItem => ({
      ...item,
      display_name: body.display_name ?? item.display_name,
      metadata: patchMetadata(item.metadata, body.metadata),
    });
    return showVault(id, await this.#heads.update(id, by, change));
  }

  /**
   * Archives its credentials after it: no credential of an archived vault counts, whether this gets
   * to it or not.
   */
  async archive(id: string, by: string): Promise<BetaManagedAgentsVault> {
    const item = await this.#heads.archive(id, by);
    const credentials = this.#credentials(id);
    for (const [credential] of await credentials.list()) await credentials.archive(credential, by, dropSecret);
    return showVault(id, item);
  }

  /** Its credentials are gone with it. Throws ManagedError 404. */
  delete(id: string, by: string): Promise<void> {
    return this.#heads.delete(id, by);
  }

  /** Lists vaults, newest first. */
  async list(includeArchived: boolean): Promise<readonly BetaManagedAgentsVault[]> {
    return (await this.#heads.list(includeArchived)).map(([id, item]) => showVault(id, item));
  }

  /** Returns what stands for a request with secrets where it is compared. Throws ManagedError. */
  fingerprint(body: unknown): string {
    this.#requireKeys();
    return this.#vaults.fingerprint(JSON.stringify(body));
  }

  /** A repeated request with the same `id` creates nothing new. Throws ManagedError. */
  async createCredential(
    { vault, id }: CredentialName,
    by: string,
    { auth: requested, display_name = null, metadata = {} }: CredentialCreate,
  ): Promise<BetaManagedAgentsCredential> {
    await this.requireOpen(vault);
    const { auth, secrets } = readAuth(requested, this.#ports.now());
    this.#requireKeys();
    const secret = await this.#vaults.writeSecrets({ vault, id }, auth, secrets);
    const fields = { display_name, metadata, auth, secret, version: 1 };
    const item = await this.#credentials(vault).create(id, by, fields, (all) => refuseAnother(all, { auth }));
    return showCredential({ vault, id }, item);
  }

  /** Throws ManagedError 404. */
  async retrieveCredential({ vault, id }: CredentialName): Promise<BetaManagedAgentsCredential> {
    await this.#heads.retrieve(vault);
    return showCredential({ vault, id }, await this.#credentials(vault).retrieve(id));
  }

  /**
   * Begins anew when a refresh was stored meanwhile, or is under way: it spends the refresh token,
   * unless the update brings another. Throws ManagedError.
   */
  async updateCredential(
    name: CredentialName,
    by: string,
    body: CredentialUpdate,
  ): Promise<BetaManagedAgentsCredential> {
    await this.requireOpen(name.vault);
    for (;;) {
      const before = await this.#credentials(name.vault).requireOpen(name.id);
      const item = this.#mustWait(before, body) ? null : await this.#change(name, by, { before, body });
      if (item) return showCredential(name, item);
      await sleep(LOOK_MS);
    }
  }

  /** Returns the changed credential; null when a refresh has begun, or was stored, since `before`. */
  async #change(
    name: CredentialName,
    by: string,
    { before, body }: { readonly before: CredentialItem; readonly body: CredentialUpdate },
  ): Promise<CredentialItem | null> {
    const own = body.auth && (await this.#sealChanged(name, before, body.auth));
    let isLate = false;
    const item = await this.#credentials(name.vault).update(name.id, by, (now) => {
      isLate = own !== undefined && (now.secret !== before.secret || this.#mustWait(now, body));
      if (isLate) return now;
      const { refused: _, refreshing: __, ...rest } = now;
      return {
        ...(own ? { ...rest, ...own, version: now.version + 1 } : now),
        display_name: body.display_name ?? now.display_name,
        metadata: patchMetadata(now.metadata, body.metadata),
      };
    });
    return isLate ? null : item;
  }

  #mustWait({ refreshing }: CredentialItem, { auth }: CredentialUpdate): boolean {
    const bringsToken = auth?.type === 'mcp_oauth' && typeof auth.refresh?.refresh_token === 'string';
    return auth !== undefined && !bringsToken && (refreshing?.until ?? 0) > this.#ports.now();
  }

  async archiveCredential({ vault, id }: CredentialName, by: string): Promise<BetaManagedAgentsCredential> {
    await this.#heads.retrieve(vault);
    return showCredential({ vault, id }, await this.#credentials(vault).archive(id, by, dropSecret));
  }

  /** Throws ManagedError 404. */
  async deleteCredential({ vault, id }: CredentialName, by: string): Promise<void> {
    await this.#heads.retrieve(vault);
    await this.#credentials(vault).delete(id, by);
  }

  /** Lists the credentials of a vault, newest first. Throws ManagedError 404. */
  async listCredentials(vault: string, includeArchived: boolean): Promise<readonly BetaManagedAgentsCredential[]> {
    await this.#heads.retrieve(vault);
    const all = await this.#credentials(vault).list(includeArchived);
    return all.map(([id, item]) => showCredential({ vault, id }, item));
  }

  /** Connects to the credential's MCP server. Throws ManagedError, StoreError. */
  async checkCredential(name: CredentialName): Promise<CheckedCredential> {
    await this.requireOpen(name.vault);
    const item = await this.#credentials(name.vault).requireOpen(name.id);
    if (item.auth.type !== 'mcp_oauth')
      throw invalid(`credential ${name.id} is of the type ${item.auth.type}: validate one of mcp_oauth`);
    this.#requireKeys();
    const { now, fetch } = this.#ports;
    const found = { ...name, item };
    const { refreshToken } = await this.#vaults.readSecrets(found);
    const checked = await checkCredential({ vaults: this.#vaults, fetch, now }, found);
    return { ...checked, has_refresh_token: refreshToken !== undefined };
  }

  async #sealChanged(name: CredentialName, item: CredentialItem, update: NonNullable<CredentialUpdate['auth']>) {
    this.#requireKeys();
    const { auth } = item;
    const current: Auth = { auth, secrets: await this.#vaults.readSecrets({ ...name, item }) };
    const changed = changeAuth(current, update, this.#ports.now());
    return { auth: changed.auth, secret: await this.#vaults.writeSecrets(name, changed.auth, changed.secrets) };
  }

  #credentials(vault: string): DatedResources<CredentialItem> {
    const { now } = this.#ports;
    const log = this.#vaults.credentials(vault);
    return new DatedResources({ log, kind: 'Credential', now, archived: refuseCredential });
  }

  #requireKeys(): void {
    if (this.#vaults.hasKeys) return;
    const details = { error_code: 'perdure_no_keys' };
    throw new ManagedError(400, `auth: ${NO_KEYS}`, details);
  }
}

type CheckedCredential = Awaited<ReturnType<typeof checkCredential>> & { readonly has_refresh_token: boolean };

const NO_KEYS =
  'secrets of credentials are sealed with the keys of payloads, and this server has none: set PERDURE_CODEC_KEYS for it and for its workers';

/** Throws ManagedError unless a session may have these vaults. */
export async function requireVaults(vaults: VaultResources, ids: readonly string[]): Promise<void> {
  if (ids.length > MOST_VAULTS) throw invalid(`vault_ids: a session has at most ${MOST_VAULTS} vaults`, 'vault_ids');
  for (const [at, id] of ids.entries()) {
    if (!isId('vlt', id)) throw invalid(`vault_ids.${at}: this is no id of a vault`, `vault_ids.${at}`);
    if (ids.indexOf(id) !== at) throw invalid(`vault_ids.${at}: the vault is named twice`, `vault_ids.${at}`);
    await vaults.requireOpen(id);
  }
}

const dropSecret = (item: CredentialItem): CredentialItem => {
  const { refreshing: _, refused: __, ...rest } = item;
  return { ...rest, secret: null };
};

/** Throws ManagedError for a second credential of an address, and for too many. */
function refuseAnother(all: Resources<CredentialItem>, { auth }: Pick<CredentialItem, 'auth'>): void {
  const open = [...all].filter(([, { archived_at }]) => archived_at === null);
  const same = open.find(([, item]) => serverOf(item) === serverOf({ auth }));
  if (same)
    throw conflict('vault_credential_exists', `the vault has a credential for ${auth.mcp_server_url}: ${same[0]}`);
  if (open.length >= MOST_CREDENTIALS) throw invalid(`a vault has at most ${MOST_CREDENTIALS} credentials`);
}

const showVault = (id: string, { display_name, metadata, ...dates }: VaultItem): BetaManagedAgentsVault => ({
  id,
  type: 'vault',
  display_name,
  metadata: { ...metadata },
  ...dates,
});

const showCredential = (
  { vault, id }: CredentialName,
  { display_name, metadata, auth, created_at, updated_at, archived_at }: CredentialItem,
): BetaManagedAgentsCredential => ({
  id,
  type: 'vault_credential',
  vault_id: vault,
  display_name,
  metadata: { ...metadata },
  auth,
  created_at,
  updated_at,
  archived_at,
});
