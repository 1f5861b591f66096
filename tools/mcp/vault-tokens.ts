// The tokens of vaults' credentials (G65): opened for a connection, and refreshed when they have
// expired or were refused. One worker of all refreshes, by a claim in the vault's log.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FetchLike } from '@modelcontextprotocol/client';
import { z } from 'zod';
import type { Secrets } from '../../store/vaults/sealed-secrets.ts';
import type { CredentialAuth, FoundCredential, TokenRefresh, Vaults } from '../../store/vaults/vaults.ts';
import { whyFetchFailed } from '../../system/network.ts';
import { createRedact, type Redact } from '../../system/redact.ts';
import { clip, onOneLine } from '../../system/text.ts';

export type TokenMeans = {
  readonly vaults: Vaults;
  /** Reaches token endpoints. */
  readonly fetch: FetchLike;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** Milliseconds; absent: those below. */
  readonly bounds?: { readonly requestMs: number; readonly claimMs: number };
};

/**
 * Milliseconds that a token endpoint has, and after which the claim of a worker that died lapses:
 * another one then sends the refresh token again.
 */
const BOUNDS = { requestMs: 10_000, claimMs: 20_000 };
/** Milliseconds before its end at which a token counts as expired. */
const EARLY_MS = 10_000;
const LOOK_MS = 250;

export type TokenRequest = {
  /** The token that the server refused. */
  readonly refused?: string | undefined;
  /** Sends a refresh token that its endpoint has refused once more. */
  readonly again?: boolean;
};

/**
 * Returns a credential's token. Throws RefreshFailed, StoreError, and an Error when the credential
 * was archived or deleted.
 */
export async function findToken(means: TokenMeans, name: FoundCredential, request: TokenRequest = {}): Promise<string> {
  for (;;) {
    const found = await means.vaults.credential(name);
    if (!found) throw new Error(`credential ${name.id} was archived or deleted`);
    const secrets = await means.vaults.readSecrets(found);
    if (!isSpent(found, secrets, request, means.now())) return secrets.token;
    const { refused } = found.item;
    if (refused !== undefined && request.again !== true) throw new RefreshFailed(found, refused, { isFinal: true });
    const token = await refreshOnce(means, found, secrets);
    if (token !== null) return token;
    await sleep(LOOK_MS);
  }
}

function isSpent(
  { item: { auth } }: FoundCredential,
  secrets: Secrets,
  { refused }: TokenRequest,
  now: number,
): boolean {
  if (auth.type !== 'mcp_oauth' || !auth.refresh || secrets.refreshToken === undefined) return false;
  const hasExpired = auth.expires_at !== null && Date.parse(auth.expires_at) - EARLY_MS <= now;
  return hasExpired || refused === secrets.token;
}

/** Returns the new token; null while another worker refreshes. Throws RefreshFailed, StoreError. */
async function refreshOnce(means: TokenMeans, found: FoundCredential, secrets: Secrets): Promise<string | null> {
  const { vaults, now, bounds = BOUNDS } = means;
  const { auth, secret } = found.item;
  const by = randomUUID();
  const until = now() + bounds.claimMs;
  if (!(await vaults.claimRefresh(found, secret, { by, until }))) return null;
  const claim = { secret, by };
  const answer = await requestToken(means, found, secrets).catch(async (error: unknown) => {
    const isFinal = error instanceof RefreshFailed && error.isFinal;
    await vaults.endRefresh(found, claim, isFinal ? { refused: error.detail } : {});
    throw error;
  });
  const { token, refreshToken = secrets.refreshToken, expiresInMs } = answer;
  const expires_at = expiresInMs === undefined ? null : new Date(now() + expiresInMs).toISOString();
  const renewed: CredentialAuth = auth.type === 'mcp_oauth' ? { ...auth, expires_at } : auth;
  // The refresh token is spent: nobody sends it again while the claim counts.
  await storeUntil({ until, now }, async () => {
    const written = await vaults.writeSecrets(found, renewed, { ...secrets, token, refreshToken });
    await vaults.endRefresh(found, claim, { auth: renewed, secret: written });
  });
  return token;
}

/** Tries again until it is stored, or until the moment. Throws StoreError. */
async function storeUntil(
  { until, now }: Pick<TokenMeans, 'now'> & { readonly until: number },
  store: () => Promise<void>,
): Promise<void> {
  for (;;)
    try {
      return await store();
    } catch (error) {
      if (now() + LOOK_MS >= until) throw error;
      await sleep(LOOK_MS);
    }
}

/** An answer of HTTP as the API shows it, without secrets. */
export type HttpExcerpt = {
  readonly status_code: number;
  readonly content_type: string;
  readonly body: string;
  readonly body_truncated: boolean;
};

type Failure = { readonly isFinal: boolean; readonly response?: HttpExcerpt; readonly cause?: unknown };

/** The token of a credential could not be refreshed. */
export class RefreshFailed extends Error {
  override readonly name = 'RefreshFailed';
  /** No other try will do: the grant is gone, or the request is wrong. */
  readonly isFinal: boolean;
  readonly detail: string;
  /** The answer of the token endpoint; null when it could not be reached. */
  readonly response: HttpExcerpt | null;
  constructor({ id }: Pick<FoundCredential, 'id'>, detail: string, { isFinal, response, cause }: Failure) {
    const remedy = isFinal ? ': authorize it anew' : '';
    super(`the token of credential ${id} could not be refreshed (${detail})${remedy}`, { cause });
    this.isFinal = isFinal;
    this.detail = detail;
    this.response = response ?? null;
  }
}

const granted = z.object({
  access_token: z.string().regex(/^[\x21-\x7e]+$/),
  // One that is malformed is absent: the access token counts.
  refresh_token: z.string().min(1).optional().catch(undefined),
  expires_in: z.coerce.number().positive().optional().catch(undefined),
});
const refusal = z.object({ error: z.string(), error_description: z.string().optional() });

type Granted = { readonly token: string; readonly refreshToken?: string | undefined; readonly expiresInMs?: number };

/** Sends the refresh token. Throws RefreshFailed. */
async function requestToken(
  { fetch, bounds = BOUNDS }: TokenMeans,
  found: FoundCredential,
  secrets: Secrets,
): Promise<Granted> {
  const redact = createRedact(Object.values(secrets).filter((secret) => secret !== undefined));
  const { auth } = found.item;
  const refresh = auth.type === 'mcp_oauth' ? auth.refresh : null;
  if (!refresh) throw new RefreshFailed(found, 'it has no refresh configuration', { isFinal: true });
  const answer = await sendForm(fetch, refresh, secrets, bounds.requestMs).catch((cause: unknown) => {
    const why = redact(onOneLine(whyFetchFailed(cause)));
    throw new RefreshFailed(found, `${refresh.token_endpoint} could not be reached: ${why}`, { isFinal: false, cause });
  });
  const body = parseJson(answer.text);
  const token = granted.safeParse(body).data;
  const isSuccess = answer.status >= 200 && answer.status < 300;
  if (isSuccess && token) {
    const { access_token, refresh_token: refreshToken, expires_in } = token;
    return { token: access_token, refreshToken, ...(expires_in && { expiresInMs: expires_in * 1_000 }) };
  }
  const { error, error_description: more } = refusal.safeParse(body).data ?? {};
  const reasons = [error ?? 'no access token', more].filter((part) => part !== undefined).join(': ');
  const isPassing = answer.status >= 500 || answer.status === 408 || answer.status === 429;
  throw new RefreshFailed(found, redact(clip(onOneLine(`HTTP status ${answer.status}: ${reasons}`), LONGEST_DETAIL)), {
    isFinal: !isPassing && (answer.status >= 400 || error !== undefined),
    // What was granted may stand in the body of a success.
    response: toExcerpt(isSuccess ? { ...answer, text: '' } : answer, redact),
  });
}

const LONGEST_DETAIL = 300;

function sendForm(
  fetch: FetchLike,
  { token_endpoint, client_id, token_endpoint_auth: { type }, resource, scope }: TokenRefresh,
  { refreshToken = '', clientSecret = '' }: Secrets,
  requestMs: number,
): Promise<ReadAnswer> {
  const fields = { grant_type: 'refresh_token', refresh_token: refreshToken };
  const form = new URLSearchParams({
    ...fields,
    ...(type !== 'client_secret_basic' && { client_id }),
    ...(type === 'client_secret_post' && { client_secret: clientSecret }),
    ...(resource !== null && { resource }),
    ...(scope !== null && { scope }),
  });
  // Both parts are form-encoded before they are joined (RFC 6749, 2.3.1).
  const encode = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);
  const basic = Buffer.from(`${encode(client_id)}:${encode(clientSecret)}`).toString('base64');
  const headers = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
    ...(type === 'client_secret_basic' && { authorization: `Basic ${basic}` }),
  };
  const signal = AbortSignal.timeout(requestMs);
  return fetch(token_endpoint, { method: 'POST', headers, body: form.toString(), signal }).then(readAnswer);
}

type ReadAnswer = { readonly status: number; readonly type: string; readonly text: string };

/** Bytes that are read of an answer, and characters of it that are shown. */
const MOST_READ = 64 * 1024;
const MOST_SHOWN = 2_000;

export async function readAnswer({ status, headers, body }: Response): Promise<ReadAnswer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    chunks.push(chunk);
    if (size >= MOST_READ) break;
  }
  const text = Buffer.concat(chunks).subarray(0, MOST_READ).toString('utf8');
  return { status, type: headers.get('content-type') ?? '', text };
}

export function toExcerpt({ status, type, text }: ReadAnswer, redact: Redact): HttpExcerpt {
  const whole = redact(text);
  const body_truncated = whole.length > MOST_SHOWN;
  return { status_code: status, content_type: clip(type, 200), body: whole.slice(0, MOST_SHOWN), body_truncated };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // It is shown as it came.
    return undefined;
  }
}
