// Opens the live channel of a place: a folder of this machine, or a Redis that many machines share.
import type { Log } from '../../system/log.ts';
import { fileLive } from './file-live.ts';
import type { Live } from './follow.ts';
import { redisLive } from './redis-live.ts';

type LivePlace = {
  readonly liveDir: string;
  /** The address of a Redis to use instead of the folder, as `liveUrlProblem` accepts it. */
  readonly liveUrl?: string | undefined;
  /** The place of the store that has the sessions. */
  readonly storePlace: string;
};

/** Opens the channel without reaching out yet. */
export function openLive({ liveDir, liveUrl, storePlace }: LivePlace, log?: Log): Live {
  const logging = log ? { log } : {};
  return liveUrl === undefined
    ? fileLive({ dir: liveDir, ...logging })
    : redisLive({ url: liveUrl, scope: storePlace, ...logging });
}
