import { expect, test } from 'vitest';
import { offerCall, readOffer, wasOffered } from '../../../store/sandbox/offers.ts';
import { acknowledge, stop, WorkQueue } from '../../../store/sandbox/queue.ts';
import { memoryStore } from '../../support/memory-store.ts';

function staged() {
  let clock = 1_000_000;
  const store = memoryStore();
  const open = (): WorkQueue => new WorkQueue({ store, now: () => clock }, 'env_1');
  return { store, open, pass: (ms: number) => void (clock += ms) };
}

const asking = { worker: 'w-1', reclaimMs: 5_000 };

test('of polls at several servers, one gets an item, and the oldest item goes first (G76)', async () => {
  const { open, pass } = staged();
  const servers = [open(), open(), open()];
  for (const session of ['sesn_1', 'sesn_2']) {
    await servers[0]!.ensure(session, 'ana');
    pass(1_000);
  }
  const claimed = await Promise.all(servers.map((server) => server.claim(asking)));
  const sessions = claimed.flatMap((one) => one?.item.session ?? []);
  expect([sessions.length, new Set(sessions)]).toEqual([2, new Set(['sesn_1', 'sesn_2'])]);
  expect(await open().claim(asking)).toBeNull();
});

test('a session has one item at a time (G76)', async () => {
  const { open } = staged();
  const queue = open();
  await Promise.all([queue.ensure('sesn_1', 'ana'), open().ensure('sesn_1', 'bob')]);
  await queue.ensure('sesn_1', 'ana');
  expect((await queue.items()).size).toBe(1);
  const { id } = (await queue.claim(asking))!;
  await queue.change(id, 'ana', acknowledge);
  await queue.ensure('sesn_1', 'ana');
  expect((await queue.items()).size).toBe(1);
  await queue.change(id, 'ana', stop);
  await queue.ensure('sesn_1', 'ana');
  expect((await open().items()).size).toBe(2);
});

test('an environment remembers its newest thousand stopped items, as every server does (G77)', async () => {
  const { open } = staged();
  const queue = open();
  await queue.ensure('sesn_stays', 'ana');
  for (let n = 0; n < 1_010; n += 1) {
    await queue.ensure(`sesn_${n}`, 'ana');
    const [id] = [...(await queue.items())].at(-1)!;
    await queue.change(id, 'ana', stop);
  }
  const items = await open().items();
  expect([...items]).toEqual([...(await queue.items())]);
  expect(items.size).toBe(1_001);
  expect([...items.values()].slice(0, 2).map(({ session }) => session)).toEqual(['sesn_stays', 'sesn_10']);
});

test('a command is shown to one lease once, a write once to each lease, a read always (G57)', async () => {
  const { store } = staged();
  const [first, second] = [
    { work: 'work_1', g: 1, at: 1 },
    { work: 'work_2', g: 1, at: 2 },
  ];
  const shown = async (tool: string) => {
    const call = { session: 'sesn_1', call: `1.1.${tool}`, tool };
    const answers = [];
    for (const lease of [first, first, second, second]) answers.push(await offerCall(store, call, lease));
    return answers;
  };
  expect(await shown('bash')).toEqual([true, false, false, false]);
  expect(await shown('edit')).toEqual([true, false, false, false]);
  expect(await shown('write')).toEqual([true, false, true, false]);
  expect(await shown('read')).toEqual([true, true, true, true]);
  const bash = { session: 'sesn_1', call: '1.1.bash', tool: 'bash' };
  expect(await readOffer(store, bash)).toEqual(first);
  expect([await wasOffered(store, bash, first), await wasOffered(store, bash, second)]).toEqual([true, false]);
});
