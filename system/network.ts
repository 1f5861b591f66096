// How a worker reaches other machines over HTTP: through the proxies that its environment names,
// trusting the certificates that it names. Every part that sends requests takes a `Network`.
import { reasonOf } from './text.ts';

export type Network = {
  /** Names the proxy, if it uses one, in the errors that it throws. */
  readonly fetch: typeof fetch;
  /**
   * The proxy's host and port, and the variable that names it, as people read them. Null when the
   * address is reached directly.
   */
  proxyFor(url: URL): { readonly label: string; readonly by: string } | null;
  /** Replace Node's own certificates; undefined keeps those. */
  readonly certificates?: readonly string[] | undefined;
};

/**
 * A header on answers that came through a proxy and may be the proxy's own. Its value is the
 * proxy's host and port.
 */
export const VIA_HEADER = 'x-perdure-proxy';

/**
 * A header on answers that refuse a credential. Its value is the variable that the credential came
 * from, which may be empty, `@`, and the server's host and port.
 */
export const CREDENTIAL_HEADER = 'x-perdure-credential';

/** Returns the reason of the error's cause: `fetch failed` alone says nothing. */
export function whyFetchFailed(error: unknown): string {
  return reasonOf(error instanceof TypeError && error.cause instanceof Error ? error.cause : error);
}
