// Leases of sandboxes on a real server (G60, G76): heartbeats keep one and make no history, and when
// they stop, what the worker was given is concluded and another item is queued.
import { expect, test } from 'vitest';
import { temporalLeases } from '../../managed/work/leases.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { acknowledge, stateOfItem, WorkQueue } from '../../store/sandbox/queue.ts';
import { offerCall } from '../../store/sandbox/offers.ts';
import { openStore } from '../../store/values/open-store.ts';
import { sandboxTools } from '../../managed/work/tools.ts';
import type { Notice } from '../../workflows/contract/activities.ts';
import { leaseId } from '../../workflows/contract/lease.ts';
import type { RunOptions } from '../../workflows/contract/session.ts';
import { clientOf, harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const environment = 'env_1';
const sandboxed: Partial<RunOptions> = {
  recordWaits: true,
  environment,
  outsideTools: [
    ...sandboxTools(['bash', 'read']),
    { by: 'worker', name: 'get_order', description: 'Looks up.', input_schema: { type: 'object' } },
  ],
  permissions: { allow: ['bash', 'read'] },
};

/** A session whose one call waits for a worker, and the item that a worker has acknowledged. */
async function staged(tool: string, input: object) {
  const h = await harness({ script: [reply([toolUse(tool, input)]), reply('Done.')] });
  const session = await h.open('Go.', sandboxed);
  const { store } = openStore({ storePlace: h.storePlace, dataDir: h.cwd });
  const queue = new WorkQueue({ store, now: Date.now }, environment);
  await until(async () => (await queue.items()).size === 1);
  const { id, item } = (await queue.claim({ worker: 'w-1', reclaimMs: 5_000 }))!;
  await queue.change(id, 'w-1', acknowledge);
  const lease = { environment, session: session.id, work: id, g: item.lease!.g };
  const leases = temporalLeases(h.client, h.taskQueue);
  const offer = { work: id, g: 1, at: Date.now() };
  await offerCall(store, { session: session.id, call: '1.1.0', tool }, offer);
  return { h, session, queue, lease, leases, handle: h.client.workflow.getHandle(leaseId(lease)) };
}

test('a custom tool that workers own is queued for them, and its outcome is unknown when one is gone (G57)', async () => {
  const { session, queue, lease, leases, handle } = await staged('get_order', {});
  await leases.open({ ...lease, ttlMs: 1_000, graceMs: 100 });
  await handle.result();
  await session.ended(1);
  const judged = (await session.entries()).flatMap((entry) => (entry.kind === 'reply' ? [entry.judged] : []));
  expect(judged[0]).toEqual({ 0: 'custom' });
  const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes).toMatchObject([{ isError: true, content: expect.stringContaining('outcome unknown') as string }]);
  expect((await queue.items()).size).toBe(1);
});

test('five items in a row without a heartbeat are noted for people, once (G78)', async () => {
  const { h, session, queue, lease, leases, handle } = await staged('read', { file_path: 'a.txt' });
  await leases.open({ ...lease, ttlMs: 1_000, graceMs: 0 });
  await handle.result();
  for (let n = 2; n <= 6; n += 1) {
    const claimed = await until(() => queue.claim({ worker: 'w', reclaimMs: 600_000 }));
    await leases.open({ ...lease, work: claimed.id, ttlMs: 1_000, graceMs: 0 });
    await until(async () => stateOfItem((await queue.items()).get(claimed.id)!) === 'stopped');
  }
  await until(async () => (await queue.items()).size === 7);
  const notices = await until(async () => {
    const found: Notice[] = [];
    for await (const { entry } of clientOf(h).transcript(session.id))
      if (entry.kind === 'notice') found.push(entry.notice);
    return found.length > 0 && found;
  });
  expect(notices).toMatchObject([{ kind: 'workers_silent', items: 5 }]);
});

test('a lease without heartbeats lapses: the outcome of what was given is unknown (G60)', async () => {
  const { session, queue, lease, leases, handle } = await staged('bash', { command: 'make' });
  await leases.open({ ...lease, ttlMs: 1_000, graceMs: 100 });
  await leases.open({ ...lease, ttlMs: 1_000, graceMs: 100 });
  await handle.result();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes).toMatchObject([{ isError: true, content: expect.stringContaining('outcome unknown') as string }]);
  const item = (await queue.items()).get(lease.work)!;
  expect([stateOfItem(item), item.lease?.lapsedAt !== undefined]).toEqual(['stopped', true]);
  expect((await queue.items()).size).toBe(1);
  expect(await leases.beat(lease)).toBe(false);
  await keepHistory('a lease that lapses, whose call is concluded (G60)', handle);
});

test('heartbeats are taken before anybody watches the lease, and not in the time of grace (G60 G77)', async () => {
  const { h, queue, lease, leases, handle } = await staged('read', { file_path: 'a.txt' });
  const unwatched = { ...lease, g: 7 };
  const early = temporalLeases(h.client, `${h.taskQueue}-nobody`);
  await early.open({ ...unwatched, ttlMs: 1_000, graceMs: 100 });
  expect(await early.beat(unwatched)).toBe(true);
  expect(await early.lastBeat(unwatched)).toBeNull();
  await h.client.workflow.getHandle(leaseId(unwatched)).terminate();
  expect(await early.beat(unwatched)).toBe(false);
  await leases.open({ ...lease, ttlMs: 1_000, graceMs: 600_000 });
  await until(async () => (await queue.items()).get(lease.work)?.lease?.lapsedAt !== undefined);
  expect(await leases.beat(lease)).toBe(false);
  await handle.terminate();
});

test('heartbeats make no history, and a worker that leaves has a read done by the next (G57 G78)', async () => {
  const { queue, lease, leases, handle } = await staged('read', { file_path: 'a.txt' });
  await leases.open({ ...lease, ttlMs: 60_000, graceMs: 30_000 });
  await until(async () => (await leases.lastBeat(lease)) !== null || ((await leases.beat(lease)) && false));
  const events = async (): Promise<number> => (await handle.fetchHistory()).events?.length ?? 0;
  const before = await events();
  for (let n = 0; n < 20; n += 1) expect(await leases.beat(lease)).toBe(true);
  expect(await events()).toBe(before);
  await leases.end(lease);
  await handle.result();
  const items = [...(await queue.items()).values()];
  expect(items.map(stateOfItem)).toEqual(['stopped', 'queued']);
  expect(items[1]).toMatchObject({ repeats: 1, session: lease.session });
  await keepHistory('a lease that its worker ends, with a call left to read (G57)', handle);
});
