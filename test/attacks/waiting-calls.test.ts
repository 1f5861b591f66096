// A hundred calls that wait for a decision at once: what is seen of them from outside is written as
// often as it is worth.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

const CALLS = 100;
/** Decided at a time, as the client does it. */
const FEW = 8;

test('a hundred waiting calls write the memo at most once in each workflow task (L55)', async () => {
  const names = Array.from({ length: CALLS }, (_, n) => `f${n}`);
  const calls = names.map((path) => toolUse('read', { path }));
  const h = await harness({ script: [reply(calls), reply('Done.')] });
  mkdirSync(h.cwd, { recursive: true });
  for (const name of names) writeFileSync(join(h.cwd, name), name);
  const session = await h.open('Read them.', { permissionMode: 'default', permissions: { ask: ['read'] } });
  const waiting = async () => {
    const memo = await session.memo();
    return memo?.phase === 'waiting_approval' ? (memo.approvals ?? []) : null;
  };
  for (let decided = 0; decided < CALLS;) {
    const some = (await until(waiting)).slice(0, FEW);
    const decide = (call: string, inputHash: string) =>
      session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
    await Promise.all(some.map(({ call, inputHash }) => decide(call, inputHash)));
    decided += some.length;
  }
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  const { events } = await session.handle.fetchHistory();
  const written = (events ?? []).flatMap(({ workflowPropertiesModifiedEventAttributes: memo }) => memo ?? []);
  const tasks = written.map(({ workflowTaskCompletedEventId }) => String(workflowTaskCompletedEventId));
  expect(new Set(tasks).size).toBe(tasks.length);
});
