// How much later a watcher is shown a delta through a Redis than through files of its own machine.
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { fileLive } from '../../store/live/file-live.ts';
import type { Live } from '../../store/live/follow.ts';
import { redisLive } from '../../store/live/redis-live.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { redisServer } from '../support/redis-server.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const session = 's-1' as SessionId;
const DELTAS = 100;
const MOST_ADDED_MS = 25;

/** Says one delta at a time, and when each was shown. */
function speaker(live: Live) {
  const shown: number[] = [];
  const abort = new AbortController();
  onTestFinished(() => abort.abort());
  onTestFinished(live.close);
  const following = (async () => {
    for await (const { type } of live.follow(session, { signal: abort.signal }))
      if (type === 'text_delta') shown.push(performance.now());
  })();
  following.catch(() => undefined);
  const writer = live.open({ session, step: 1, attempt: 1, activity: 'callModel' });
  return async (): Promise<number> => {
    const [before, at] = [shown.length, performance.now()];
    writer.write({ type: 'text_delta', iteration: 1, index: 0, text: 'some words ' });
    await until(() => shown.length > before);
    return (shown[before] ?? 0) - at;
  };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

test('a delta through a Redis is shown at most 25 ms later, at the median, than one through files (W5)', async () => {
  const server = await redisServer();
  onTestFinished(server.kill);
  const [onFiles, onRedis] = [fileLive({ dir: tempDir() }), redisLive({ url: server.url, scope: randomUUID() })].map(
    speaker,
  );
  if (!onFiles || !onRedis) throw new Error('there are two channels');
  const files: number[] = [];
  const redis: number[] = [];
  for (let n = 0; n < DELTAS; n += 1) {
    files.push(await onFiles());
    redis.push(await onRedis());
  }
  const [throughFiles, throughRedis] = [median(files), median(redis)];
  process.stderr.write(
    `a delta is shown after ${throughFiles.toFixed(1)} ms through files, ${throughRedis.toFixed(1)} ms through a Redis (medians)\n`,
  );
  expect(throughRedis - throughFiles).toBeLessThan(MOST_ADDED_MS);
});
