// How many workflow tasks a worker has at once, as the histories of its sessions tell: the time of
// each runs from then on, and a busy machine cannot work on many.
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse, type ParsedRequest } from '../../scripted-model/index.ts';
import { profiles } from '../../workflows/contract/profiles.ts';
import { harness, type OpenSession } from '../support/harness.ts';

const SESSIONS = 40;

test('of forty sessions that wait for a worker, it has four workflow tasks at once', async () => {
  const script = (request: ParsedRequest) =>
    request.messages.length === 1 ? reply([toolUse('glob', { pattern: '*' })]) : reply('Done.');
  const h = await harness({ script, workflowTask: '1 minute' });
  await h.worker.stop();
  const sessions = await Promise.all(Array.from({ length: SESSIONS }, (_, n) => h.open(`Session ${n}.`)));
  const worker = await h.startWorker();
  onTestFinished(() => worker.stop());
  const ends = await Promise.all(sessions.map((session) => session.ended(1)));
  expect(ends.map(({ terminal }) => terminal.reason)).toEqual(sessions.map(() => 'completed'));
  expect(await mostAtOnce(sessions)).toBeLessThanOrEqual(profiles.machine.workflowTasks);
});

/** The most workflow tasks of all sessions that were begun and not yet over at any one time. */
async function mostAtOnce(sessions: readonly OpenSession[]): Promise<number> {
  const changes: (readonly [at: bigint, change: 1 | -1])[] = [];
  for (const { handle } of sessions) {
    for (const event of (await handle.fetchHistory()).events ?? []) {
      const { eventTime: time } = event;
      const at = BigInt(String(time?.seconds ?? 0)) * 1_000_000_000n + BigInt(time?.nanos ?? 0);
      if (event.workflowTaskStartedEventAttributes) changes.push([at, 1]);
      if (event.workflowTaskCompletedEventAttributes) changes.push([at, -1]);
    }
  }
  // What ends when another begins has made room for it.
  changes.sort(([a, first], [b, second]) => (a === b ? first - second : a < b ? -1 : 1));
  let now = 0;
  return changes.reduce((most, [, change]) => Math.max(most, (now += change)), 0);
}
