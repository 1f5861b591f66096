// Hooks that nobody waits for, and the process they were started by (L21).
import { EventEmitter, once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createExitHandlers } from '../../../system/process/kill-tree.ts';
import { processInfo } from '../../../system/process/proc.ts';
import { compiled, startNode } from '../../support/compiled.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { until } from '../../support/until.ts';

test('a command that still runs when the worker exits dies with it, and all that it started (L21)', async () => {
  const cwd = tempDir();
  await once(startNode(compiled('test/activities/hooks/exiting-process.ts'), cwd), 'exit');
  const pids = readFileSync(join(cwd, 'pids'), 'utf8').trim().split(' ').map(Number);
  const alive = (): readonly number[] => pids.filter((pid) => processInfo(pid) !== null);
  onTestFinished(() => alive().forEach((pid) => process.kill(pid, 'SIGKILL')));
  expect(pids).toHaveLength(2);
  await until(() => alive().length === 0);
});

test('one listener waits for the exit, and only while something runs', () => {
  const process = new EventEmitter();
  const { add } = createExitHandlers(process as NodeJS.Process);
  const ended: string[] = [];
  const added = ['a', 'b', 'c'].map((name) => add(() => void ended.push(name)));
  expect(process.listenerCount('exit')).toBe(1);
  added[0]?.();
  process.emit('exit');
  expect(ended).toEqual(['b', 'c']);
  added.forEach((forget) => forget());
  expect(process.listenerCount('exit')).toBe(0);
});
