import { describe, expect, test } from 'vitest';
import { ManagedError } from '../../managed/errors.ts';
import { type EventFact, emptyProjection, type OpenWait, type ReplyCall } from '../../managed/events/parts.ts';
import type { Timeline } from '../../managed/events/timelines.ts';
import type { FoundSession } from '../../managed/session-status.ts';
import { findTarget } from '../../managed/settle.ts';
import { endUngiven, lookAfterLease, requireOffer } from '../../managed/work/results.ts';
import {
  beginStream,
  isOver,
  listForWorker,
  offerToWorker,
  streamToWorker,
  type WorkerStream,
} from '../../managed/work/view.ts';
import { lapse, requestStop, stateOfItem, takeLease, WorkQueues } from '../../store/sandbox/queue.ts';
import { beginRun, type LeaseName, offerCall, recordFenced } from '../../store/sandbox/offers.ts';
import { memoryStore } from '../support/memory-store.ts';

type Shown = Pick<EventFact, 'id' | 'type'> & Partial<Pick<EventFact, 'settles'>>;

const fact = (one: Shown): EventFact => ({ at: 0, entry: null, make: () => ({}) as never, ...one });
const called = (name: string): ReplyCall => ({ name, input: {}, state: 'told' });

/** The calls `c0`, `c1` … of a reply, of which some wait, and what was told besides. */
function timeline(
  tools: readonly string[],
  waiting: readonly number[],
  more: readonly Shown[] = [],
  why: 'sandbox' | 'custom' = 'sandbox',
): Timeline {
  const opened = waiting.map((index): OpenWait => ({ call: `1.1.${index}`, id: `c${index}`, why }));
  const calls = Object.fromEntries(tools.map((name, index) => [index, called(name)]));
  const facts = [...tools.map((_, index): Shown => ({ id: `c${index}`, type: 'agent.tool_use' })), ...more];
  return { facts: facts.map(fact), projection: { ...emptyProjection('sesn_1'), calls, waiting: opened } };
}

async function staged() {
  const store = memoryStore();
  const queues = new WorkQueues({ store, now: () => 1 });
  const queue = queues.of('env_1');
  const parts = { ports: { store, now: () => 1 }, queues };
  const claimed = async () => {
    await queue.ensure('sesn_1', 'ana');
    const { id, item } = (await queue.claim({ worker: undefined, reclaimMs: 5_000 }))!;
    return { environment: 'env_1', session: 'sesn_1', work: id, g: item.lease!.g };
  };
  const begin = ({ work, g }: LeaseName) => queue.change(work, 'w', (item, now) => takeLease(item, g, now, '000001'));
  const lease = async () => {
    const own = await claimed();
    await begin(own);
    return own;
  };
  return { parts, queue, claimed, begin, lease };
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

test('a worker is shown a call once its first heartbeat has come, by the same stream (G57)', async () => {
  const { parts, claimed, begin } = await staged();
  const own = await claimed();
  const open = timeline(['bash'], [0]);
  const sent = new Set<string>();
  const stream = () => streamToWorker(parts, own, open, { unsent: open.facts.filter(({ id }) => !sent.has(id)), sent });
  expect(await offerToWorker(parts, own, open, open.facts)).toEqual([]);
  expect(await stream()).toEqual([]);
  await begin(own);
  expect(ids(await stream())).toEqual(['c0']);
  expect(await stream()).toEqual([]);
});

test('a worker that was asked to stop is shown no command, and the next one is (G57 G78)', async () => {
  const { parts, queue, lease } = await staged();
  const own = await lease();
  await queue.change(own.work, 'ana', requestStop);
  const open = timeline(['bash'], [0]);
  expect(await offerToWorker(parts, own, open, open.facts)).toEqual([]);
  expect(await isOver(parts, own)).toBe(false);
  await queue.change(own.work, 'ana', (item) => ({ ...item, stoppedAt: 1 }));
  expect(ids(await offerToWorker(parts, await lease(), open, open.facts))).toEqual(['c0']);
});

test('a call that a fenced worker has not begun is shown again, and one run of it may begin (G57 G62)', async () => {
  const { parts, queue, lease } = await staged();
  const { store } = parts.ports;
  const own = await lease();
  const open = timeline(['bash', 'get_order', 'write'], [0, 1, 2]);
  const show = async (worker: WorkerStream) => ids(await offerToWorker(parts, worker, open, open.facts));
  await recordFenced(store, 'sesn_1', own, ['bash', 'write']);
  expect(await show(own)).toEqual(['c0', 'c1', 'c2']);
  const stream = await beginStream(parts, own);
  const sent = new Set<string>();
  const more = await streamToWorker(parts, stream, open, { unsent: open.facts, sent });
  expect(ids(more)).toEqual(['c0', 'c2']);
  const call = { session: 'sesn_1', call: '1.1.0', tool: 'bash' };
  expect(await beginRun(store, call, own, 'one')).toBe(true);
  expect(await beginRun(store, call, own, 'one')).toBe(true);
  expect(await beginRun(store, call, own, 'two')).toBe(false);
  expect(await show(own)).toEqual(['c2']);
  await queue.change(own.work, 'ana', (item) => ({ ...item, stoppedAt: 1 }));
  const next = await lease();
  await recordFenced(store, 'sesn_1', next, ['bash', 'write']);
  expect(await show(next)).toEqual(['c2']);
});

test('a stream shows no more calls once its worker listens to another, also at another server (G57)', async () => {
  const { parts, lease } = await staged();
  const own = await lease();
  const open = timeline(['bash'], [0]);
  const show = (stream: WorkerStream) => streamToWorker(parts, stream, open, { unsent: open.facts, sent: new Set() });
  const first = await beginStream(parts, own);
  const elsewhere = { queues: new WorkQueues({ store: parts.ports.store, now: () => 1 }) };
  const second = await beginStream(elsewhere, own);
  expect(await show(first)).toEqual([]);
  expect([await isOver(parts, first), await isOver(parts, second)]).toEqual([true, false]);
  expect(ids(await show(second))).toEqual(['c0']);
});

test('a lease is over once it has lapsed, was followed by another or is unknown', async () => {
  const { parts, queue, lease } = await staged();
  const own = await lease();
  const later = new WorkQueues({ store: parts.ports.store, now: () => 1 });
  expect(await isOver({ queues: later }, { ...own, g: 2 })).toBe(true);
  expect(await isOver({ queues: later }, { ...own, work: 'work_x' })).toBe(true);
  await queue.change(own.work, 'the watch', (item, now) => lapse(item, own.g, now));
  expect(await isOver({ queues: new WorkQueues({ store: parts.ports.store, now: () => 1 }) }, own)).toBe(true);
});

test('nobody is shown a call that an interrupt has come for, and its result still counts (G96)', async () => {
  const { parts, lease } = await staged();
  const own = await lease();
  const open = timeline(['bash', 'read'], [0, 1]);
  const waiting = open.projection.waiting.map((wait) => ({ ...wait, isStopping: true as const }));
  const stopping = { ...open, projection: { ...open.projection, waiting } };
  expect(await offerToWorker(parts, own, stopping, open.facts)).toEqual([]);
  expect(ids(await offerToWorker(parts, own, open, open.facts))).toEqual(['c0', 'c1']);
  await requireOffer(parts.ports, stopping, { found: { id: 'sesn_1' } as FoundSession, lease: own }, waiting[0]!);
});

test('an interrupt ends at once what no worker has, and leaves what one may run (G96)', async () => {
  const { parts, lease } = await staged();
  const own = await lease();
  const open = timeline(['bash', 'bash', 'write', 'read'], [0, 1, 2, 3]);
  await offerToWorker(parts, own, open, open.facts.slice(0, 1));
  const given: unknown[] = [];
  const ports = {
    ...parts.ports,
    log: () => undefined,
    giveResult: async (...update: unknown[]) => void given.push(update),
  };
  // Calls of a run that begins after the interrupt are not ended by a repeat of it.
  const looks = [false, true].map((isStopping) => {
    const waiting = open.projection.waiting.map((wait) => ({
      ...wait,
      ...(isStopping && { isStopping: true as const }),
    }));
    return { ...open.projection, waiting };
  });
  await endUngiven(
    ports,
    'sesn_1',
    async () => (looks.length > 1 ? looks.shift() : looks[0]) ?? open.projection,
    'ann',
  );
  expect(given).toMatchObject([
    [
      'sesn_1',
      { call: '1.1.1', by: 'ann', result: { isError: true, body: { text: expect.stringContaining('Not run') } } },
    ],
    ['sesn_1', { call: '1.1.3', by: 'ann', result: { isError: true } }],
  ]);
  expect(ids(await offerToWorker(parts, own, open, open.facts.slice(1, 2)))).toEqual([]);
});

describe('a worker without an open call', () => {
  const tended = async (now: number, open: Timeline, idleLeaseMs: number | undefined = 600_000) => {
    const { parts, queue, lease } = await staged();
    const own = await lease();
    if (open.projection.waiting.length > 0) await offerToWorker(parts, own, open, open.facts);
    const ports = { ...parts.ports, idleLeaseMs, now: () => now, log: (line: string) => expect(line).toBe('') };
    const sessions = { find: async () => ({}), timeline: async () => open };
    await lookAfterLease({ ports, queues: parts.queues, sessions } as never, own);
    return stateOfItem((await queue.items()).get(own.work)!);
  };
  const rested = (at: number): Timeline => {
    const one = timeline(['bash'], [], [result(0)]);
    return { ...one, facts: one.facts.map((each) => ({ ...each, at: at * 1_000 })) };
  };

  test('is asked to stop once that has lasted since its last result, where the server says so (G97)', async () => {
    expect(await tended(600_000, timeline([], []))).toBe('active');
    expect(await tended(600_001, timeline([], []))).toBe('stopping');
    expect(await tended(700_000, rested(100_001))).toBe('active');
    expect(await tended(700_001, rested(100_001))).toBe('stopping');
    expect(await tended(700_001, rested(100_001), Infinity)).toBe('active');
  });

  test('is left alone while it runs a call, a custom one too, but not for one that an app answers (G97)', async () => {
    const late = 800_000;
    expect(await tended(late, timeline(['bash'], [0]))).toBe('active');
    expect(await tended(late, timeline(['get_order'], [0], [], 'custom'))).toBe('active');
    const ofApp = timeline(['get_order'], [0], [], 'custom');
    expect(await tended(late, { ...ofApp, facts: [] })).toBe('stopping');
  });
});

describe('a result', () => {
  const found = { id: 'sesn_1' } as FoundSession;

  test('of a custom call is taken from the lease that was shown it, and from apps (G58)', async () => {
    const { parts, lease } = await staged();
    const own = await lease();
    const open = timeline(['get_order'], [0], [], 'custom');
    const [wait] = open.projection.waiting;
    const give = (by: typeof own | undefined) => requireOffer(parts.ports, open, { found, lease: by }, wait!);
    await expect(give(own)).rejects.toMatchObject({ status: 403 });
    await give(undefined);
    expect(ids(await offerToWorker(parts, own, open, open.facts))).toEqual(['c0']);
    await give(own);
    await expect(give({ ...own, g: 2 })).rejects.toMatchObject({ status: 403 });
    await give(undefined);
  });

  test('of a worker that comes too late is refused with 403, and of anybody else with 400 (G58 G96)', () => {
    const event = { type: 'user.tool_result', tool_use_id: 'c0' } as const;
    const ended = timeline(['bash'], [], [{ id: 'r0', type: 'agent.tool_result', settles: 'c0' }]);
    const own = { environment: 'env_1', session: 'sesn_1', work: 'work_1', g: 1 };
    const statusOf = (lease: typeof own | undefined): unknown => {
      try {
        return findTarget(ended, { event, at: 0, lease });
      } catch (error) {
        return error instanceof ManagedError && error.status;
      }
    };
    expect([statusOf(own), statusOf(undefined)]).toEqual([403, 400]);
  });

  test('of a person under way is overdue by its age alone (G59 G61)', async () => {
    const { parts, lease } = await staged();
    const own = await lease();
    const open = timeline(['bash'], [0]);
    const call = { session: 'sesn_1', call: '1.1.0', tool: 'bash' };
    await offerCall(parts.ports.store, call, { work: 'api', g: 0, at: 1 });
    const given: unknown[] = [];
    const conclude = (now: number) => {
      const ports = {
        ...parts.ports,
        now: () => now,
        log: (line: string) => given.push(line),
        giveResult: async (...update: readonly unknown[]) => void given.push(update),
      };
      const sessions = { find: async () => found, timeline: async () => open };
      return lookAfterLease({ ports, queues: parts.queues, sessions } as never, own);
    };
    await conclude(15 * 60_000);
    expect(given).toEqual([]);
    await conclude(15 * 60_000 + 2);
    expect(given).toMatchObject([['sesn_1', { call: '1.1.0', result: { isError: true } }]]);
  });
});
