// Sends the packs of new snapshots to the store that hosts share (T4). A store that cannot be
// reached keeps no capture and no rewind from being done.
import type { Log } from '../../system/log.ts';
import { clip, onOneLine, reasonOf } from '../../system/text.ts';
import { type FindNamed, packsIn, sendPacks } from '../../store/snapshots/packs.ts';
import { readChain, type StoredSegment } from '../../store/log/read-chain.ts';
import type { ShadowPlace } from '../../store/snapshots/shadow.ts';
import type { Store } from '../../store/values/store.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';

type SendMeans = { readonly store: Pick<Store, 'put'>; readonly log?: Log | undefined };

/** Sends new packs; the next call repeats those that fail. */
export async function sendNewPacks(
  { store, log }: SendMeans,
  { session, place }: { readonly session: SessionId; readonly place: ShadowPlace },
  findNamed: FindNamed,
): Promise<readonly Hash[]> {
  try {
    return await sendPacks(store, place, findNamed);
  } catch (error) {
    const why = clip(onOneLine(reasonOf(error)), 300);
    log?.('warn', `snapshots of ${place.root} are on this host alone until the next: ${why}`, { session });
    return [];
  }
}

/** Finds packs among the newest entries of a transcript, as far as it has to be read. */
export const findNamedUpTo =
  (store: Store, session: SessionId, head: Hash): FindNamed =>
  async (waiting) => {
    const left = new Set(waiting);
    const isEnough = (chunk: readonly StoredSegment[]): boolean => {
      for (const hash of chunk.flatMap(({ segment }) => segment.entries.flatMap(packsIn))) left.delete(hash);
      return left.size === 0;
    };
    if (left.size > 0) isEnough(await readChain(store, session, head, { isEnough }));
    return new Set(waiting.filter((hash) => !left.has(hash)));
  };
