// Sessions found by what visibility knows of them, on a real server: by attributes, and by memos
// where there are none.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { createClient } from '../../client/client.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import type { SessionCounts } from '../../client/sessions/find/count-sessions.ts';
import type { ListOptions } from '../../client/sessions/find/list-sessions.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { memoryStore } from '../support/memory-store.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { endSession, harness, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

function clientOf({ client, taskQueue }: Harness, attributes: boolean): PerdureClient {
  const live = (): never => {
    throw new Error('nothing is followed here');
  };
  return createClient({
    temporal: client,
    store: memoryStore(),
    live,
    taskQueue,
    visibility: () => Promise.resolve(attributes),
  });
}

async function found(client: PerdureClient, filter: string): Promise<readonly SessionId[]> {
  const sessions: SessionId[] = [];
  for await (const { session } of client.list({ filter })) sessions.push(session);
  return sessions.toSorted();
}

async function counted(client: PerdureClient, which: ListOptions): Promise<Partial<SessionCounts>> {
  const { note: _, ...counts } = await client.counts(which);
  return Object.fromEntries(Object.entries(counts).filter(([phase, count]) => count > 0 || phase === 'idle'));
}

test('lists are newest first by the session’s own start, also when some have closed, and page by page (F9)', async () => {
  const h = await harness({ script: { replies: [{ ...reply('Done.'), times: 'any' }] } });
  const client = createClient({
    temporal: h.client,
    store: fileStore({ dir: h.storePlace }),
    live: async function* () {},
    taskQueue: h.taskQueue,
    visibility: () => Promise.resolve(true),
  });
  const team = `team-${h.taskQueue.slice(-8)}`;
  const begun: SessionId[] = [];
  for (const title of ['One.', 'Two.', 'Three.', 'Four.']) {
    const { session } = await client.start(title, { cwd: h.cwd, tags: { team } });
    onTestFinished(() => endSession(h.client.workflow.getHandle(session)));
    begun.push(session);
    await until(async () => (await client.describe(session)).phase === 'idle');
  }
  const filter = `tag:team=${team}`;
  await client.cancel(begun[2]!);
  await client.cancel(begun[0]!);
  await until(async () => (await client.counts({ filter })).closed === 2);
  const newest = begun.toReversed();
  await until(async () => (await client.page({ filter })).sessions.length === 4);
  expect((await client.page({ filter })).sessions.map(({ session }) => session)).toEqual(newest);
  const first = await client.page({ filter, size: 3 });
  expect(first.sessions.map(({ session }) => session)).toEqual(newest.slice(0, 3));
  const rest = await client.page({ filter, size: 3, after: first.next! });
  expect([rest.sessions.map(({ session }) => session), rest.next]).toEqual([newest.slice(3), null]);
  const listed: SessionId[] = [];
  for await (const { session } of client.list({ filter })) listed.push(session);
  expect(listed).toEqual(newest);
});

test('a session whose agent waits for a person waits itself, in filters and counts (F10)', async () => {
  const h = await harness({
    script: byPrompt({
      'Go.': [reply([agentCall('Count.')]), reply('Done.')],
      'Count.': [reply([toolUse('bash', { command: 'touch x' })]), reply('There are three.')],
    }),
  });
  const client = clientOf(h, true);
  const team = `team-${h.taskQueue.slice(-8)}`;
  const session = await h.open('Go.', { permissionMode: 'default', tags: { team } });
  const filter = `tag:team=${team}`;
  await until(async () => (await found(client, `${filter} phase:waiting`)).length === 2);
  expect(await found(client, `${filter} phase:waiting`)).toContain(session.id);
  expect(await found(client, `${filter} phase:running`)).toEqual([]);
  expect(await found(client, `${filter} -phase:waiting`)).toEqual([]);
  expect(await client.counts({ filter })).toMatchObject({ waiting_approval: 2, running: 0 });
  expect((await client.describe(session.id)).phase).toBe('waiting_approval');
});

test('a filter means the same sessions by attributes and by memos, in pages and at once (O1 O3)', async () => {
  const h = await harness({ script: [reply('Done.'), reply('Done.'), reply('Done.'), reply('Done.')] });
  const [fast, slow] = [clientOf(h, true), clientOf(h, false)];
  // The server cannot tell of it, the oldest, whether it is meant: the last page does not promise
  // another for it.
  await slow.start('A session without attributes.', { cwd: h.cwd });
  const mine = `mine-${h.taskQueue.slice(-8)}`;
  const tags = { team: mine, kind: `it's "1"` };
  const opened = await Promise.all([
    h.open('Lamps.', { tags, model: 'claude-sonnet-5' }),
    h.open('Chairs.', { tags: { team: mine }, model: 'claude-haiku-4-5' }),
    h.open('Tables.', { tags: { team: mine } }),
  ]);
  await Promise.all(opened.map(({ ended }) => ended(1)));
  const [lamps, chairs, tables] = opened.map(({ id }) => id) as [SessionId, SessionId, SessionId];
  const all = [lamps, chairs, tables].toSorted();
  await until(async () => ((await found(fast, `tag:team=${mine} phase:idle`)).length === 3 ? true : null));
  const means: readonly (readonly [string, readonly SessionId[]])[] = [
    ['', all],
    ['phase:idle turns:1 tokens>0 reason:completed', all],
    ['model:HAIKU', [chairs]],
    ['model=claude-haiku-4-5', [chairs]],
    ['-model:haiku', [lamps, tables].toSorted()],
    [`tag:"kind=it's \\"1\\""`, [lamps]],
    ['tag:kind', [lamps]],
    ['phase:waiting', []],
    ['-phase:waiting', all],
    ['failed', []],
    ['-failed idle', all],
    ['turns>1', []],
    ['-turns>1 age<1h', all],
    ['waiting>1s', []],
    ['"chairs"', [chairs]],
    ['-phase:closed,parked -reason:model_error', all],
  ];
  for (const [filter, sessions] of means) {
    const query = `tag:team=${mine} ${filter}`;
    expect([filter, await found(fast, query)]).toEqual([filter, sessions]);
    expect([filter, await found(slow, query)]).toEqual([filter, sessions]);
    for (const client of [fast, slow])
      expect([filter, await counted(client, { filter: query })]).toEqual([filter, { idle: sessions.length }]);
  }
  for (const sort of ['', ' sort:title']) {
    const filter = `tag:team=${mine}${sort}`;
    const pages: SessionId[] = [];
    let after: string | undefined;
    do {
      const page = await fast.page({ filter, size: 1, ...(after === undefined ? {} : { after }) });
      expect(page.sessions).toHaveLength(1);
      pages.push(...page.sessions.map(({ session }) => session));
      after = page.next ?? undefined;
    } while (after !== undefined);
    if (sort !== '') expect(pages).toEqual([chairs, lamps, tables]);
    expect(pages.toSorted()).toEqual(all);
  }
  expect(await fast.counts({ filter: `tag:team=${mine}` })).toMatchObject({ idle: 3, running: 0, closed: 0 });
  const { note, ...counts } = await slow.counts({ filter: `tag:team=${mine}` });
  expect(counts).toMatchObject({ idle: 3, running: 0, closed: 0 });
  expect(note).toMatch(/perdure setup/);
  await keepHistory('a session with facts and tags (O1)', opened[0].handle);
});

test('by numbers, sessions under way are counted and listed as of now, idle and closed ones as ever (F6 O3)', async () => {
  const h = await harness({
    script: byPrompt({
      'Rest.': [reply('Done.')],
      'Close.': [reply('Done.')],
      'Work.': [
        reply([toolUse('glob', { pattern: '*' })]),
        reply([toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done' })]),
        reply('Done.'),
      ],
    }),
  });
  const [fast, slow] = [clientOf(h, true), clientOf(h, false)];
  const team = `team-${h.taskQueue.slice(-8)}`;
  const open = (task: string) => h.open(task, { tags: { team } });
  const [rest, close, work] = await Promise.all([open('Rest.'), open('Close.'), open('Work.')]);
  await Promise.all([rest.ended(1), close.ended(1), until(() => existsSync(join(h.cwd, 'begun')))]);
  await fast.cancel(close.id);
  const all = { idle: 1, closed: 1, running: 1 };
  await until(async () => (await fast.counts({ filter: `tag:team=${team} phase:closed` })).closed === 1);
  const means: readonly (readonly [string, Partial<SessionCounts>])[] = [
    ['turns>=1', all],
    ['-turns>5', all],
    ['turns>=2', { idle: 0, running: 1 }],
    ['-turns>=2', { idle: 1, closed: 1 }],
    ['phase:idle,closed turns:1', { idle: 1, closed: 1 }],
    ['phase:running turns>=1', { idle: 0, running: 1 }],
    ['-phase:running turns>=1', { idle: 1, closed: 1 }],
    ['-phase:idle turns>=1', { idle: 0, closed: 1, running: 1 }],
    ['turns>=1 idle<1h', { idle: 0, running: 1 }],
    ['turns>=1 -idle<1h', { idle: 1, closed: 1 }],
    ['turns>=1 status:open', { idle: 1, running: 1 }],
    ['turns>=1 "rest"', { idle: 1 }],
    ['turns>=1 tag:team', all],
  ];
  for (const client of [fast, slow])
    for (const [filter, counts] of means) {
      const query = { filter: `tag:team=${team} ${filter}`, running: true };
      // A look at a session that works has two seconds, which a busy machine may need.
      await until(async () => (await client.counts(query)).running === (counts.running ?? 0));
      expect([filter, await counted(client, query)]).toEqual([filter, counts]);
      const phases = (await client.page(query)).sessions.map(({ phase }) => phase);
      expect([filter, countBy(phases)]).toEqual([filter, counts]);
    }
  // The server counts the idle and the closed ones: none of them is read.
  const reads = vi.spyOn(h.client.workflowService, 'listWorkflowExecutions');
  expect(await counted(fast, { filter: `tag:team=${team} turns>=1`, running: true })).toEqual(all);
  type List = {
    readonly executions: readonly { readonly execution?: { readonly workflowId?: string | null } | null }[];
  };
  const lists = (await Promise.all(reads.mock.results.map(({ value }) => value))) as readonly List[];
  const read = lists.flatMap(({ executions }) => executions.map(({ execution }) => execution?.workflowId));
  reads.mockRestore();
  expect([rest, close, work].map(({ id }) => read.includes(id))).toEqual([false, false, true]);
  const wanted = { filter: `tag:team=${team} turns>=1`, running: true, open: true };
  expect(await counted(fast, wanted)).toEqual({ idle: 1, running: 1 });
  expect((await fast.page(wanted)).sessions).toHaveLength(2);
  const pages: SessionId[] = [];
  for (let after: string | null | undefined; after !== null;) {
    const page = await fast.page({ ...wanted, open: false, size: 1, ...(after !== undefined && { after }) });
    pages.push(...page.sessions.map(({ session }) => session));
    after = page.next;
  }
  expect(pages.toSorted()).toEqual([rest.id, close.id, work.id].toSorted());
  writeFileSync(join(h.cwd, 'go'), '');
  await work.ended(1);
});

const countBy = (phases: readonly string[]): Record<string, number> =>
  Object.fromEntries([...phases, 'idle'].map((one) => [one, phases.filter((phase) => phase === one).length]));
