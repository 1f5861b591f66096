// Compares what filters made at random find on a real server: counts by the server and by memos,
// lists, sorted lists and pages mean the same sessions.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../../client/client.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { endSession, harness, type Harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

const clientOf = ({ client, storePlace, taskQueue }: Harness, attributes: boolean): PerdureClient =>
  createClient({
    temporal: client,
    taskQueue,
    store: fileStore({ dir: storePlace }),
    live: async function* () {},
    visibility: () => Promise.resolve(attributes),
  });

const TERMS = [
  ...['running', 'waiting', 'parked', 'idle', 'closed', 'idle,closed', 'running,waiting'].map((one) => `phase:${one}`),
  ...['open', 'cancelled', 'terminated', 'failed', 'timed_out', 'completed', 'failed,open'].map(
    (one) => `status:${one}`,
  ),
  ...['completed', 'max_turns', 'model_error,completed'].map((one) => `reason:${one}`),
  'failed',
  'phase:failed,waiting',
  'turns:1',
  'turns>=2',
  'turns<2',
  'turns>1.5',
  'turns=0,2',
  'tokens>0',
  'cost>0',
  'cost<=0.0001',
  'runs>1',
  'model:claude',
  'model=claude-sonnet-5',
  'agent:general',
  'agent=general-purpose',
  'title:go',
  'error:max',
  'waiting>0s',
  'waiting>9999999999999d',
  'age<1h',
  'age>0s',
  'age<9999999999999d',
  'tag:kind',
  'tag:kind=a',
  'tag:kind=a,kind=b',
  '"rest"',
  'close',
  'turns>99999999999999999999',
];

const filters = fc
  .array(fc.tuple(fc.constantFrom(...TERMS), fc.boolean()), { minLength: 1, maxLength: 3 })
  .map((terms) => terms.map(([term, not]) => `${not ? '-' : ''}${term}`).join(' '));

test('counts, lists and pages of any filter mean the same sessions, idle, under way or closed (O1 O3)', async () => {
  const done = reply('Done.');
  const h = await harness({
    script: byPrompt({
      'Rest.': [done],
      'Close.': [done],
      'Wait.': [reply([toolUse('bash', { command: 'touch waited' })]), done],
      'Work.': [
        reply([toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done', timeout: 600_000 })]),
        done,
      ],
      'Delegate.': [reply([agentCall('Count.')]), done],
      'Count.': [reply('There are three.')],
    }),
  });
  const [fast, slow] = [clientOf(h, true), clientOf(h, false)];
  const team = `team-${h.taskQueue.slice(-8)}`;
  const open = (text: string, kind: string, more = {}) => h.open(text, { tags: { team, kind }, ...more });
  const [rest, closed, killed, waits, works, calls] = await Promise.all([
    open('Rest.', 'a'),
    open('Close.', 'b'),
    open('Rest.', 'b', { model: 'claude-sonnet-5' }),
    open('Wait.', 'a', { permissionMode: 'default' }),
    open('Work.', 'c'),
    open('Delegate.', 'c'),
  ]);
  await Promise.all([
    ...[rest, closed, killed, calls].map(({ ended }) => ended(1)),
    until(() => existsSync(join(h.cwd, 'begun'))),
  ]);
  await until(async () => (await waits.memo())?.phase === 'waiting_approval');
  const begun = await slow.start('Rest.', { cwd: h.cwd, tags: { team, kind: 'a' } });
  onTestFinished(() => endSession(h.client.workflow.getHandle(begun.session)));
  await until(async () => (await fast.describe(begun.session)).phase === 'idle');
  await fast.cancel(closed.id);
  await killed.handle.terminate('the test ends it');
  const mine = `tag:team=${team}`;
  await until(async () => (await fast.counts({ filter: mine })).closed === 3);
  await fc.assert(
    fc.asyncProperty(filters, async (terms) => {
      const filter = `${mine} ${terms}`;
      const listed: Record<string, number> = {};
      const ids: string[] = [];
      for await (const { session, phase } of slow.list({ filter })) {
        listed[phase] = (listed[phase] ?? 0) + 1;
        ids.push(session);
      }
      for (const client of [fast, slow]) {
        const { note: _, ...counts } = await client.counts({ filter });
        const some = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
        const page = (await client.page({ filter })).sessions.map(({ session }) => session);
        const sorted = (await client.page({ filter: `${filter} sort:title` })).sessions;
        expect([filter, some]).toEqual([filter, listed]);
        expect([filter, page]).toEqual([filter, ids]);
        expect(sorted.map(({ session }) => session).toSorted()).toEqual(ids.toSorted());
      }
    }),
    { numRuns: 15 },
  );
  writeFileSync(join(h.cwd, 'go'), '');
  await works.ended(1);
});
