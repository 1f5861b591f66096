import { expect, test } from 'vitest';
import type { EventFact } from '../../managed/events/parts.ts';
import { emptyProjection, type OpenWait, type ReplyCall } from '../../managed/events/parts.ts';
import type { Timeline } from '../../managed/events/timelines.ts';
import { listForWorker, offerToWorker, streamToWorker } from '../../managed/work/view.ts';
import { WorkQueues } from '../../store/sandbox/queue.ts';
import { memoryStore } from '../support/memory-store.ts';

type Shown = Pick<EventFact, 'id' | 'type'> & Partial<Pick<EventFact, 'settles'>>;

const fact = (one: Shown): EventFact => ({ at: 0, entry: null, make: () => ({}) as never, ...one });
const called = (name: string): ReplyCall => ({ name, input: {}, state: 'told' });

/** The calls `c0`, `c1` … of a reply, of which some wait, and what was told besides. */
function timeline(tools: readonly string[], waiting: readonly number[], more: readonly Shown[] = []): Timeline {
  const opened = waiting.map((index): OpenWait => ({ call: `1.1.${index}`, id: `c${index}`, why: 'sandbox' }));
  const calls = Object.fromEntries(tools.map((name, index) => [index, called(name)]));
  const facts = [...tools.map((_, index): Shown => ({ id: `c${index}`, type: 'agent.tool_use' })), ...more];
  return { facts: facts.map(fact), projection: { ...emptyProjection('sesn_1'), calls, waiting: opened } };
}

async function staged() {
  const store = memoryStore();
  const queues = new WorkQueues({ store, now: () => 1 });
  const queue = queues.of('env_1');
  const parts = { ports: { store, now: () => 1 }, queues };
  const lease = async () => {
    await queue.ensure('sesn_1', 'ana');
    const { id, item } = (await queue.claim({ worker: undefined, reclaimMs: 5_000 }))!;
    return { environment: 'env_1', session: 'sesn_1', work: id, g: item.lease!.g };
  };
  return { parts, queue, lease };
}

const ids = (facts: readonly EventFact[]) => facts.map(({ id }) => id);
const result = (index: number): Shown => ({ id: `r${index}`, type: 'user.tool_result', settles: `c${index}` });

test('a worker is listed calls that wait for it or have its result, and no others (G56)', () => {
  const served = timeline(
    ['bash', 'web_fetch', 'bash', 'bash'],
    [3],
    [result(0), { id: 'r1', type: 'agent.tool_result' }, { id: 'x2', type: 'user.tool_confirmation', settles: 'c2' }],
  );
  expect(ids(listForWorker(served))).toEqual(['c0', 'c3', 'r0', 'r1', 'x2']);
});

test('a command is shown once across list and stream, and a read again (G57)', async () => {
  const { parts, lease } = await staged();
  const own = await lease();
  const open = timeline(['bash', 'read'], [0, 1]);
  const sent = new Set<string>();
  const stream = () => streamToWorker(parts, own, open, { unsent: open.facts, sent });
  expect(ids(await offerToWorker(parts, own, open, open.facts))).toEqual(['c0', 'c1']);
  expect(ids(await stream())).toEqual(['c1']);
  expect(ids(await offerToWorker(parts, own, open, open.facts))).toEqual(['c1']);
  expect([...sent]).toEqual(['c0', 'c1']);
});

test('a stream shows a call once it waits, and never one that has its result (G56)', async () => {
  const { parts, lease } = await staged();
  const own = await lease();
  const sent = new Set<string>();
  const stream = (now: Timeline) =>
    streamToWorker(parts, own, now, { unsent: now.facts.filter(({ id }) => !sent.has(id)), sent });
  expect(ids(await stream(timeline(['bash', 'bash'], [])))).toEqual([]);
  expect(ids(await stream(timeline(['bash', 'bash'], [1], [result(0)])))).toEqual(['c1', 'r0']);
  expect(ids(await stream(timeline(['bash', 'bash'], [], [result(0), result(1)])))).toEqual(['r1']);
});

test('a lease that is over is shown nothing that would run (G57 G60)', async () => {
  const { parts, queue, lease } = await staged();
  const own = await lease();
  await queue.change(own.work, 'ana', (item) => ({ ...item, stoppedAt: 1 }));
  const open = timeline(['bash', 'write'], [0, 1]);
  expect(await offerToWorker(parts, own, open, open.facts)).toEqual([]);
  const next = await lease();
  expect(ids(await offerToWorker(parts, next, open, open.facts))).toEqual(['c0', 'c1']);
});
