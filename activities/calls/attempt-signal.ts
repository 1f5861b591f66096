// The attempt's signal as tools understand it: a deploy must not look like an interrupt to them
// (L50).
import { setMaxListeners } from 'node:events';
import type { AbortedBy, Attempt } from '../attempt.ts';
import type { AbortCause } from '../../tools/tool.ts';

const CAUSES: Readonly<Record<AbortedBy, AbortCause>> = { stop: 'interrupt', deploy: 'deploy', lost: 'superseded' };

/** Returns a signal that is aborted, with an AbortCause, when the attempt is. */
export function attemptSignal(attempt: Attempt): AbortSignal {
  const abort = new AbortController();
  // Every call of a batch may listen, and Node takes more than ten listeners for a leak.
  setMaxListeners(0, attempt.signal);
  const pass = (): void => abort.abort(CAUSES[attempt.abortedBy() ?? 'lost']);
  if (attempt.signal.aborted) pass();
  else attempt.signal.addEventListener('abort', pass, { once: true });
  return abort.signal;
}
