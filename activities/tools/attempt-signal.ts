// The attempt's signal as tools understand it: a deploy must not look like an interrupt to them (L50).
import type { AbortedBy, Attempt } from '../attempt.ts';
import type { AbortCause } from './tool.ts';

const causes: Readonly<Record<AbortedBy, AbortCause>> = { stop: 'interrupt', deploy: 'deploy', lost: 'superseded' };

/** Aborted with an AbortCause when the attempt is. */
export function attemptSignal(attempt: Attempt): AbortSignal {
  const abort = new AbortController();
  const pass = (): void => abort.abort(causes[attempt.abortedBy() ?? 'lost']);
  if (attempt.signal.aborted) pass();
  else attempt.signal.addEventListener('abort', pass, { once: true });
  return abort.signal;
}
