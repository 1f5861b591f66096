// A worker killed while a hook command runs: what the command was is ended by another worker, asked again or not.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { processInfo } from '../../activities/process/proc.ts';
import { reply } from '../../worker/scripted-model/index.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { until } from '../support/until.ts';

/** The second time it is asked, a command finds `pids` and ends at once. */
const command = 'test -e pids && exit 0; sleep 300 & echo $$ $! > pids.new; mv pids.new pids; wait';

test.each(['stop', 'postSampling'] as const)(
  'the processes of a %s command do not outlive a killed worker for long (L21 L30)',
  async (kind) => {
    const h = await crashHarness({ script: [reply('Done.')], config: { hooks: { [kind]: [{ command }] } } });
    const first = await h.worker();
    const session = await h.open('Do it.');
    const path = join(h.cwd, 'pids');
    await until(() => existsSync(path));
    const pids = readFileSync(path, 'utf8').trim().split(' ').map(Number);
    const alive = (): readonly number[] => pids.filter((pid) => processInfo(pid) !== null);
    onTestFinished(() => alive().forEach((pid) => process.kill(pid, 'SIGKILL')));
    expect(alive()).toHaveLength(2);
    await first.kill();
    expect(alive()).toHaveLength(2);
    const second = await h.worker();
    await until(() => alive().length === 0);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    await second.kill();
  },
);
