// How long to wait before the next attempt of a model call (L14).

export type Backoff = {
  /** Failed attempts after which the call is given up: 10 retries. */
  readonly maxRetries: number;
  /** Milliseconds before the first retry; doubled each time up to `maxMs`. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** A longer wait asked for by the provider parks the session. */
  readonly parkOverMs: number;
};

export const defaultBackoff: Backoff = { maxRetries: 10, firstMs: 500, maxMs: 32_000, parkOverMs: 60_000 };

/** `failures` so far, at least 1; `random` in [0, 1) adds up to a quarter. */
export function backoffMs({ firstMs, maxMs }: Backoff, failures: number, random: number): number {
  const base = Math.min(maxMs, firstMs * 2 ** (failures - 1));
  return Math.round(base * (1 + random / 4));
}
