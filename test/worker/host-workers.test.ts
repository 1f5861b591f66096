import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { processIdentity } from '../../system/process/identity.ts';
import { joinWorkers } from '../../worker/reaper.ts';
import { tempDir } from '../support/temp-dir.ts';

/** An identity of this machine, with a start time that no process has. */
function died(dir: string, taskQueue: string): void {
  writeFileSync(join(dir, `${taskQueue}.json`), JSON.stringify({ ...processIdentity(), startTime: '1', taskQueue }));
}

test('living workers, and those that ended in order, are nothing to look after (L50)', () => {
  const dir = tempDir();
  const [own, other, gone] = [1, 2, 3].map(() => joinWorkers(dir, 'q'));
  gone?.leave();
  expect([own?.haveDied(), other?.haveDied()]).toEqual([false, false]);
  expect(readdirSync(dir)).toHaveLength(2);
});

test('one that died is looked after in three rounds, by workers of its queue (L50)', () => {
  const dir = tempDir();
  const own = joinWorkers(dir, 'q');
  died(dir, 'another');
  expect(own.haveDied()).toBe(false);
  died(dir, 'q');
  expect([1, 2, 3, 4].map(() => own.haveDied())).toEqual([true, true, true, false]);
});
