// Vaults and their credentials (G65): a log of vaults, and one of credentials for each. Records of
// their own hold sealed secrets, so that a cleaning can remove replaced ones.
import { randomName } from '../../system/random-name.ts';
import { RecentMap } from '../../system/recent-map.ts';
import { ResourceLog } from '../values/resource-log.ts';
import type { SealKeys } from '../values/s3/record-seal.ts';
import { type Store, StoreError } from '../values/store.ts';
import { hashSecretText, openSecrets, sealSecrets, type Secrets } from './sealed-secrets.ts';

/** Times of items are in RFC 3339. */
type Dated = { readonly created_at: string; readonly updated_at: string; readonly archived_at: string | null };
type Labels = { readonly metadata: Readonly<Record<string, string>> };

export type VaultItem = Dated & Labels & { readonly display_name: string };

export type TokenRefresh = {
  readonly client_id: string;
  readonly token_endpoint: string;
  readonly token_endpoint_auth: { readonly type: 'none' | 'client_secret_basic' | 'client_secret_post' };
  readonly resource: string | null;
  readonly scope: string | null;
};

/** How a credential authenticates, without its secrets. */
export type CredentialAuth =
  | { readonly type: 'static_bearer'; readonly mcp_server_url: string }
  | {
      readonly type: 'mcp_oauth';
      readonly mcp_server_url: string;
      readonly expires_at: string | null;
      readonly refresh: TokenRefresh | null;
    };

export type CredentialItem = Dated &
  Labels & {
    readonly display_name: string | null;
    readonly auth: CredentialAuth;
    /** The record of its secrets; null once they are purged. */
    readonly secret: string | null;
    /** Counts the changes that people make of what is sent; a connection is of one of them. */
    readonly version: number;
    /** A refresh that is under way. `until`: milliseconds since the epoch. */
    readonly refreshing?: { readonly by: string; readonly until: number };
    /** Why the token endpoint refused the refresh token for good. */
    readonly refused?: string;
  };

export type CredentialName = { readonly vault: string; readonly id: string };
export type FoundCredential = CredentialName & { readonly item: CredentialItem };

/** The name of the log of vaults, by their ids. */
const VAULTS = 'vaults';
/** Kind of the records that hold sealed secrets: `vault-secrets/<vault>/<secret>`. */
const VAULT_SECRETS = 'vault-secrets';
const credentialLogName = (vault: string): string => `vault-credentials-${vault}`;

/** Vaults whose credentials a process keeps in mind. */
const MOST_OPEN = 500;

type VaultsOptions = {
  readonly store: Store;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** The keys of payloads; absent: no secret can be sealed or opened. */
  readonly keys: SealKeys | undefined;
};

export class Vaults {
  readonly heads: ResourceLog<VaultItem>;
  readonly #options: VaultsOptions;
  readonly #logs = new RecentMap<string, ResourceLog<CredentialItem>>(MOST_OPEN);

  constructor(options: VaultsOptions) {
    const { store, now } = options;
    this.#options = options;
    this.heads = new ResourceLog({ store, name: VAULTS, now });
  }

  /** Returns the log of a vault's credentials. */
  credentials(vault: string): ResourceLog<CredentialItem> {
    const { store, now } = this.#options;
    const log = this.#logs.get(vault) ?? new ResourceLog({ store, name: credentialLogName(vault), now });
    this.#logs.set(vault, log);
    return log;
  }

  get hasKeys(): boolean {
    return this.#options.keys !== undefined;
  }

  /**
   * Returns the credential for an address, as URL writes it, of the first vault that has one; null
   * where none has. What is archived or deleted has none. Throws StoreError.
   */
  async find(vaults: readonly string[], url: string, maxAgeMs = 0): Promise<FoundCredential | null> {
    const heads = await this.heads.read(maxAgeMs);
    for (const vault of vaults) {
      if (heads.get(vault)?.archived_at !== null) continue;
      for (const [id, item] of await this.credentials(vault).read(maxAgeMs))
        if (item.archived_at === null && serverOf(item) === url) return { vault, id, item };
    }
    return null;
  }

  /** Returns a credential as it is; null once it, or its vault, was archived or deleted. */
  async credential({ vault, id }: CredentialName): Promise<FoundCredential | null> {
    const head = (await this.heads.read()).get(vault);
    const item = (await this.credentials(vault).read()).get(id);
    return head?.archived_at === null && item?.archived_at === null ? { vault, id, item } : null;
  }

  /** Seals secrets in a record of their own, and returns its name. Throws StoreError. */
  async writeSecrets(name: CredentialName, auth: CredentialAuth, secrets: Secrets): Promise<string> {
    const secret = randomName();
    const sealed = sealSecrets(this.#keys, placeOf(name, auth), secrets);
    await this.#options.store.create(secretKey(name, secret), sealed);
    return secret;
  }

  /** Throws StoreError. */
  async readSecrets({ vault, id, item: { auth, secret } }: FoundCredential): Promise<Secrets> {
    const key = secret === null ? null : secretKey({ vault, id }, secret);
    const bytes = key && (await this.#options.store.read(key));
    if (!bytes) throw new StoreError('missing', `the secret of credential ${id} is missing`);
    return openSecrets(this.#keys, placeOf({ vault, id }, auth), bytes);
  }

  fingerprint(text: string): string {
    return hashSecretText(this.#keys, text);
  }

  /**
   * Claims the refresh of a token, as long as the credential holds `secret` and no other claim
   * counts: of all who try, one has it. Returns whether this one has. Throws StoreError.
   */
  async claimRefresh(
    { vault, id }: CredentialName,
    secret: string | null,
    claim: { readonly by: string; readonly until: number },
  ): Promise<boolean> {
    let isClaimed = false;
    await this.credentials(vault).append(claim.by, (all) => {
      const item = all.get(id);
      const isUnderWay = (item?.refreshing?.until ?? 0) > this.#options.now();
      isClaimed = item?.archived_at === null && item.secret === secret && !isUnderWay;
      return item && isClaimed ? { id, item: { ...item, refreshing: claim } } : null;
    });
    return isClaimed;
  }

  /**
   * Ends a refresh with its changes, as long as the credential holds `secret`: a secret that was
   * replaced meanwhile is the newer one. Throws StoreError.
   */
  endRefresh(
    { vault, id }: CredentialName,
    { secret, by }: { readonly secret: string | null; readonly by: string },
    changes: Partial<Pick<CredentialItem, 'auth' | 'secret' | 'refused'>>,
  ): Promise<void> {
    return this.credentials(vault).append(by, (all) => {
      const item = all.get(id);
      if (item?.archived_at !== null || item.secret !== secret) return null;
      // Another one claimed it after this claim had lapsed.
      if (changes.secret === undefined && item.refreshing?.by !== by) return null;
      const { refreshing: _, refused: __, ...rest } = item;
      return { id, item: { ...rest, ...changes } };
    });
  }

  get #keys(): SealKeys {
    const { keys } = this.#options;
    if (keys) return keys;
    throw new StoreError(
      'unavailable',
      'this process has no keys of payloads to open secrets of vaults: set PERDURE_CODEC_KEYS',
    );
  }
}

export const serverOf = ({ auth }: Pick<CredentialItem, 'auth'>): string => new URL(auth.mcp_server_url).href;

const secretKey = ({ vault }: CredentialName, secret: string): string => `${VAULT_SECRETS}/${vault}/${secret}`;

/** The seal covers the addresses: changing them in the store sends no secret elsewhere. */
const placeOf = ({ vault, id }: CredentialName, auth: CredentialAuth): readonly unknown[] => [
  vault,
  id,
  auth.mcp_server_url,
  auth.type === 'mcp_oauth' ? (auth.refresh?.token_endpoint ?? null) : null,
];

/**
 * Returns a function that tells whether a cleaning keeps a record: secrets that a credential holds,
 * and logs of vaults that exist; undefined for records of other kinds. Throws StoreError.
 */
export async function findKeptSecrets(store: Store, now: () => number): Promise<(key: string) => boolean | undefined> {
  const vaults = new Vaults({ store, now, keys: undefined });
  const needed = new Set<string>();
  for (const [vault, { archived_at }] of await vaults.heads.read()) {
    needed.add(credentialLogName(vault)).add(`${credentialLogName(vault)}-checkpoints`);
    for (const { secret } of (await vaults.credentials(vault).read()).values())
      if (secret !== null && archived_at === null) needed.add(`${vault}/${secret}`);
  }
  return (key) => {
    const [kind, segment = '', name] = key.split('/');
    if (kind === VAULT_SECRETS) return needed.has(`${segment}/${name}`);
    return kind === 'managed' && segment.startsWith(credentialLogName('')) ? needed.has(segment) : undefined;
  };
}
