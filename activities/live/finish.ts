// How an attempt that stores or does not store ends for watchers: without a head, what it showed is void.
import type { Hash } from '../../workflows/contract/ids.ts';
import type { LiveWriter } from './events.ts';

type Ended = { readonly kind: string; readonly head?: Hash; readonly detail?: string };

/** Returns `result`. Without a detail its kind says why; `nothing` is what a stop leaves of a compaction (L47). */
export async function finish<Result extends Ended>(live: LiveWriter, result: Result): Promise<Result> {
  const { head, detail, kind } = result;
  if (head !== undefined) await live.end({ type: 'fate', fate: 'stored', head });
  else await live.end({ type: 'fate', fate: 'died', why: detail ?? (kind === 'nothing' ? 'cancelled' : kind) });
  return result;
}
