// How a worker reaches other machines over HTTP: through the proxies that its environment names, by
// the certificates that it trusts. What reaches out by itself is given one of these.
import { reasonOf } from './text.ts';

export type Network = {
  /** Its failures name the proxy, where there is one. */
  readonly fetch: typeof fetch;
  /**
   * Host and port, and the variable that names it, for people. Null: the address is reached
   * directly.
   */
  proxyFor(url: URL): { readonly shown: string; readonly by: string } | null;
  /** Trusted instead of Node's own. Undefined: those. */
  readonly certificates?: readonly string[] | undefined;
};

/** A header of answers that came through a proxy and may be the proxy's own: its host and port. */
export const VIA_HEADER = 'x-perdure-proxy';

/** `fetch failed` says nothing: its cause does. */
export function whyFetchFailed(error: unknown): string {
  return reasonOf(error instanceof TypeError && error.cause instanceof Error ? error.cause : error);
}
