// Opens the live channel of a place: a folder of this machine, or a Redis that many machines share.
import type { Log } from '../../system/log.ts';
import { fileLive } from './file-live.ts';
import type { Live } from './follow.ts';
import { redisLive } from './redis-live.ts';

export type LivePlace = {
  readonly liveDir: string;
  /** Instead of the folder: as `liveUrlProblem` accepts it. */
  readonly liveUrl?: string | undefined;
  /** Of the sessions it is about. */
  readonly storePlace: string;
};

/** Reaches nothing yet. */
export function openLive({ liveDir, liveUrl, storePlace }: LivePlace, log?: Log): Live {
  const told = log ? { log } : {};
  return liveUrl === undefined
    ? fileLive({ dir: liveDir, ...told })
    : redisLive({ url: liveUrl, scope: storePlace, ...told });
}
