// Tells whether a credential of a vault works (G65): connects to its MCP server with its token, and
// refreshes that after a 401.
import type { FetchLike } from '@modelcontextprotocol/client';
import type { FoundCredential } from '../../store/vaults/vaults.ts';
import { createRedact } from '../../system/redact.ts';
import { createBoundedFetch } from './bounded-fetch.ts';
import { mcpBounds } from './servers.ts';
import { findToken, type HttpExcerpt, readAnswer, RefreshFailed, toExcerpt, type TokenMeans } from './vault-tokens.ts';

/** `method`: the request of MCP that failed. `http_response`: null where no answer came. */
type Probe = { readonly method: string; readonly http_response: HttpExcerpt | null };

export type CredentialCheck = {
  readonly status: 'valid' | 'invalid' | 'unknown';
  readonly mcp_probe: Probe | null;
  readonly refresh: {
    readonly status: 'succeeded' | 'failed' | 'connect_error' | 'no_refresh_token';
    readonly http_response: HttpExcerpt | null;
  } | null;
};

const PROBE_MS = 20_000;

/** Throws StoreError. */
export async function checkCredential(means: TokenMeans, found: FoundCredential): Promise<CredentialCheck> {
  const { token, refreshToken } = await means.vaults.readSecrets(found);
  const first = await probeServer(means.fetch, found, token);
  if (first === null) return { status: 'valid', mcp_probe: null, refresh: null };
  if (first.http_response?.status_code !== 401) return { status: verdictOf(first), mcp_probe: first, refresh: null };
  const { auth } = found.item;
  if (auth.type !== 'mcp_oauth' || auth.refresh === null || refreshToken === undefined)
    return { status: 'invalid', mcp_probe: first, refresh: { status: 'no_refresh_token', http_response: null } };
  try {
    const renewed = await findToken(means, found, { refused: token, again: true });
    const second = await probeServer(means.fetch, found, renewed);
    const refresh = { status: 'succeeded', http_response: null } as const;
    return { status: second === null ? 'valid' : verdictOf(second), mcp_probe: second, refresh };
  } catch (error) {
    if (!(error instanceof RefreshFailed)) throw error;
    const { isFinal, response: http_response } = error;
    const refresh = { status: http_response ? 'failed' : 'connect_error', http_response } as const;
    return { status: isFinal ? 'invalid' : 'unknown', mcp_probe: first, refresh };
  }
}

const verdictOf = ({ http_response }: Probe): CredentialCheck['status'] =>
  [401, 403].includes(http_response?.status_code ?? 0) ? 'invalid' : 'unknown';

/** Returns the request that failed, or null where all were answered. */
async function probeServer(fetch: FetchLike, { item }: FoundCredential, token: string): Promise<Probe | null> {
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const redact = createRedact([token]);
  const signal = AbortSignal.timeout(PROBE_MS);
  let method = 'initialize';
  let failed: HttpExcerpt | null = null;
  const bounded = createBoundedFetch({ fetch, limit: mcpBounds.message });
  const watched: FetchLike = async (url, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set('authorization', `Bearer ${token}`);
    const both = init.signal ? AbortSignal.any([init.signal, signal]) : signal;
    const response = await bounded(url, { ...init, headers, signal: both });
    if (response.ok || init.method !== 'POST') return response;
    const answer = await readAnswer(response);
    failed = toExcerpt(answer, redact);
    return new Response(answer.text || null, { status: response.status, headers: response.headers });
  };
  const client = new Client({ name: 'perdure', version: '0' });
  const transport = new StreamableHTTPClientTransport(new URL(item.auth.mcp_server_url), { fetch: watched });
  try {
    await client.connect(transport, { signal, timeout: PROBE_MS });
    method = 'tools/list';
    if (client.getServerCapabilities()?.tools) await client.listTools({}, { signal, timeout: PROBE_MS });
    return null;
  } catch {
    // The answer, or its absence, is what is told of the failure.
    return { method, http_response: failed };
  } finally {
    await client.close();
  }
}
