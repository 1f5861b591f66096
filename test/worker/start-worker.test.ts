// A worker that cannot start, as far as it goes without a server.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { SetupProblem } from '../../system/setup-problem.ts';
import { startWorker } from '../../worker/start-worker.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const held = (): number => process.getActiveResourcesInfo().filter((what) => what === 'TCPServerWrap').length;

test('a server that does not answer is told in one line with its address, and nothing stays open', async () => {
  const dir = tempDir();
  const before = held();
  const folders = { storePlace: join(dir, 'store'), liveDir: join(dir, 'live'), dataDir: dir };
  // Without a key: the scripted model listens by then.
  const starting = startWorker({ address: '127.0.0.1:1', namespace: 'default', ...folders, env: {}, log: () => {} });
  await expect(starting).rejects.toThrow(SetupProblem);
  await expect(starting).rejects.toThrow(
    /^no Temporal server answers at 127\.0\.0\.1:1: [^\n]*correct TEMPORAL_ADDRESS/,
  );
  await until(() => held() <= before);
});
