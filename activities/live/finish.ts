// How an attempt that stores or does not store ends for watchers: without a head, what it showed is void.
import type { Hash } from '../../workflows/contract/ids.ts';
import type { LiveWriter } from './events.ts';

type Ended = { readonly kind: string; readonly head?: Hash; readonly detail?: string };

/** What the loop may recover from is not told before it has failed to (L17). */
const WITHHELD: readonly string[] = ['too_long', 'media_too_large'];

/** Returns `result`. Without a detail its kind says why; `nothing` is what a stop leaves of a compaction (L47). */
export async function finish<Result extends Ended>(live: LiveWriter, result: Result): Promise<Result> {
  const { head } = result;
  if (head !== undefined) await live.end({ type: 'fate', fate: 'stored', head });
  else await live.end({ type: 'fate', fate: 'died', why: whyDied(result) });
  return result;
}

function whyDied({ kind, detail }: Ended): string {
  if (WITHHELD.includes(kind)) return 'it is tried another way';
  return detail ?? (kind === 'nothing' ? 'cancelled' : kind);
}
