// A worker that is told to stop: how long what runs may finish, and what becomes of it when that
// was not enough.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

/** An effectful call is under way; it ends by itself once there is a file `go`. */
async function running(config: PerdureConfig) {
  const command = 'echo effect >> effects.log; touch begun; until [ -e go ]; do sleep 0.05; done; echo finished';
  const h = await harness({ script: [reply([toolUse('bash', { command })]), reply('Done.')], worker: { config } });
  const session = await h.open('Do it.');
  await until(() => existsSync(join(h.cwd, 'begun')));
  return { h, session };
}

describe('an effectful call of a worker that is told to stop', () => {
  test('finishes within the drain, and the run goes on elsewhere with its result (L50)', async () => {
    const { h, session } = await running({});
    const stopped = h.worker.stop();
    writeFileSync(join(h.cwd, 'go'), '');
    await stopped;
    const second = await h.startWorker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(JSON.stringify(h.bodies()[1]?.messages.at(-1))).toContain('finished');
    await second.stop();
  });

  test('is cut off after `drainMs`, and not run again: its outcome is unknown (L40 L50)', async () => {
    const { h, session } = await running({ drainMs: 1 });
    // The command waits for a file that nobody writes: only a cut ends it.
    await h.worker.stop();
    const second = await h.startWorker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    const told = JSON.stringify(h.bodies()[1]?.messages.at(-1));
    expect(told).toMatch(
      /outcome unknown: bash was started at [^;]+; it was stopped by a worker shutdown while it ran/,
    );
    expect(readFileSync(join(h.cwd, 'effects.log'), 'utf8')).toBe('effect\n');
    expect((await session.entries()).some(({ kind }) => kind === 'notice')).toBe(false);
    await second.stop();
  });
});
