// Following a session to the end of a run, over a live channel that may be late, lost or of an
// earlier run.
import { expect, test, vi } from 'vitest';
import type { LiveEvent } from '../../store/live/events.ts';
import type { Followed } from '../../client/follow/news.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { all, description, ended, followed, looking, message, session } from './support.ts';

const start = (run: number): LiveEvent => ({
  type: 'run_start',
  run,
  queryId: `c.${run}`,
  depth: 0,
  cwd: '/work',
  model: 'm',
  scripted: false,
});
const said = (text: string): LiveEvent => ({ type: 'text_delta', iteration: 1, index: 0, text });
const end = (run: number, head: Hash, ...messages: string[]): LiveEvent => ({
  type: 'run_end',
  ended: ended({ run, messages }),
  head,
});
const texts = (events: readonly Followed[]): readonly string[] =>
  events.flatMap((event) => (event.type === 'text_delta' ? [event.text] : []));

test('gives the events of the run as they come, and its result last', async () => {
  const s = await followed({ run: 1, messages: ['a'] });
  await s.tell(1, start(1));
  await s.tell(2, said('answer 1'));
  await s.tell(3, end(1, s.head, 'a'));
  const events = await all(
    s.follow(() => description({ last: s.last, runs: 1, phase: 'idle' }), { messageId: message('a') }),
  );
  expect(events.map(({ type }) => type)).toEqual(['run_start', 'text_delta', 'run_end', 'result']);
  expect(events.at(-1)).toMatchObject({ sessionId: session, reason: 'completed', text: 'answer 1', durationMs: 5 });
});

test('passes tombstones on, so that nothing void is taken as said (L16)', async () => {
  const s = await followed({ run: 1, messages: ['a'] });
  const first = s.open(1);
  first.write(said('wrong'));
  let last = description({ runs: 1 });
  const seen: string[] = [];
  for await (const event of s.follow(() => last, { messageId: message('a') })) {
    seen.push(event.type === 'text_delta' ? event.text : event.type);
    if (seen.length > 1) continue;
    await first.end({ type: 'fate', fate: 'died', why: 'overloaded' });
    const second = s.open(1, 2);
    second.write(said('answer 1'));
    await second.end({ type: 'fate', fate: 'stored', head: s.head });
    await s.tell(2, end(1, s.head, 'a'));
    last = description({ runs: 1, last: s.last });
  }
  expect(seen).toEqual(['wrong', 'tombstone', 'answer 1', 'run_end', 'result']);
});

test('tells what is stored, and the result, when the live channel has nothing', async () => {
  const s = await followed({ run: 1, messages: ['a'] });
  const look = looking(3, description(), description({ last: s.last, runs: 1, phase: 'idle' }));
  const events = await all(s.follow(look.at, { messageId: message('a') }));
  expect(events).toMatchObject([
    { type: 'request_start' },
    { type: 'text_delta', text: 'answer 1', step: 0, attempt: 2 },
    { type: 'reply' },
    { type: 'result', text: 'answer 1' },
  ]);
});

test('shows each step when it is stored while the live channel is lost, and says so once (W5)', async () => {
  const s = await followed({ run: 1, messages: ['a'] });
  const lines: string[] = [];
  const seen: Followed[] = [];
  let isBack = (): void => undefined;
  const live = async function* (_: unknown, signal: AbortSignal, onTrouble?: (why: string | null) => void) {
    onTrouble?.('the Redis cannot be used');
    isBack = () => onTrouble?.(null);
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    yield* [];
  };
  let now = description({ runs: 1 });
  const options = { messageId: message('a'), onNotice: (line: string) => lines.push(line) };
  for await (const event of s.follow(() => now, options, { live, head: () => Promise.resolve(s.head) })) {
    seen.push(event);
    if (event.type !== 'reply') continue;
    // The run goes on: only the store has said so far what its steps came to.
    isBack();
    now = description({ last: s.last, runs: 1, phase: 'idle' });
  }
  expect(seen.map(({ type }) => type)).toEqual(['request_start', 'text_delta', 'reply', 'result']);
  expect(lines).toEqual([
    'each step is shown when it is stored, for now: the Redis cannot be used',
    'the live channel is back: what happens is shown while it happens',
  ]);
});

test('finds the run that answered its message although later runs have ended since', async () => {
  const s = await followed({ run: 1, messages: ['a'] }, { run: 2, messages: ['b'] }, { run: 3, messages: ['c'] });
  const look = looking(2, description(), description({ last: s.last, runs: 3, phase: 'idle' }));
  const events = await all(s.follow(look.at, { messageId: message('a') }));
  expect(texts(events)).toEqual(['answer 1']);
  expect(events.at(-1)).toMatchObject({ type: 'result', text: 'answer 1' });
});

test('finds the run that took its message among more than a run lists, also when it is the last one (L61)', async () => {
  const s = await followed({ run: 1, messages: ['a'], unlisted: ['b'] }, { run: 2, messages: ['c'], unlisted: ['d'] });
  const rest = () => description({ last: s.last, runs: 2, phase: 'idle' });
  const found = async (id: string) => (await all(s.follow(rest, { messageId: message(id) }))).at(-1);
  expect(await found('b')).toMatchObject({ type: 'result', text: 'answer 1' });
  expect(await found('d')).toMatchObject({ type: 'result', text: 'answer 2' });
});

test('does not show what an earlier run said before the one it waits for', async () => {
  const s = await followed({ run: 1, messages: ['a'] }, { run: 2, messages: ['b'] });
  await s.tell(1, start(1), said('answer 1'), end(1, s.head, 'a'));
  await s.tell(4, start(2), said('answer 2'));
  await s.tell(5, end(2, s.head, 'b'));
  const before = description({ phase: 'idle', runs: 1, last: { ...ended({ run: 1, messages: ['a'] }), head: s.head } });
  const look = looking(3, before, description({ last: s.last, runs: 2, phase: 'idle' }));
  const events = await all(s.follow(look.at, { messageId: message('b') }));
  expect(events.map(({ type }) => type)).toEqual(['run_start', 'text_delta', 'run_end', 'result']);
  expect(events[1]).toMatchObject({ text: 'answer 2' });
});

test('does not show an earlier run either when its own has begun already', async () => {
  const s = await followed({ run: 1, messages: ['a'] }, { run: 2, messages: ['b'] });
  await s.tell(1, start(1), said('answer 1'), end(1, s.head, 'a'));
  await s.tell(4, start(2), said('answer 2'), end(2, s.head, 'b'));
  const before = description({ runs: 2, last: { ...ended({ run: 1, messages: ['a'] }), head: s.head } });
  const look = looking(1, before, description({ last: s.last, runs: 2, phase: 'idle' }));
  const events = await all(s.follow(look.at, { messageId: message('b') }));
  expect(events.map(({ type }) => type)).toEqual(['run_start', 'text_delta', 'run_end', 'result']);
});

test('shows a run whose start was lost, from a moment after it looked', async () => {
  const s = await followed({ run: 1, messages: ['a'] });
  await s.tell(5, said('answer 1'));
  const look = looking(6, description({ runs: 1 }), description({ last: s.last, runs: 1, phase: 'idle' }));
  const events = await all(s.follow(look.at, { messageId: message('a') }));
  expect(events.map(({ type }) => type)).toEqual(['text_delta', 'result']);
});

test('shows why a run could not start, although it never had a start', async () => {
  const s = await followed({ run: 1 }, { run: 2, messages: ['b'], answers: false });
  await s.tell(1, start(1), end(1, s.head));
  await s.tell(4, { type: 'notice', notice: { kind: 'error', text: 'no such folder' } }, end(2, s.head, 'b'));
  const before = description({ phase: 'idle', runs: 1, last: { ...ended({ run: 1 }), head: s.head } });
  const look = looking(1, before, description({ last: s.last, runs: 2, phase: 'idle' }));
  const events = await all(s.follow(look.at, { messageId: message('b') }));
  expect(events.map(({ type }) => type)).toEqual(['notice', 'run_end', 'result']);
});

test('goes on past the end of a run that did not answer its message', async () => {
  const s = await followed({ run: 1, messages: ['a'] }, { run: 2, messages: ['b'] });
  await s.tell(1, start(1), said('answer 1'), end(1, s.head, 'a'));
  await s.tell(4, start(2), end(2, s.head, 'b'));
  const look = looking(1, description({ runs: 1 }), description({ runs: 2, last: s.last }));
  const events = await all(s.follow(look.at, { messageId: message('b') }));
  expect(events.filter(({ type }) => type === 'run_end')).toHaveLength(2);
  expect(events.at(-1)).toMatchObject({ type: 'result', text: 'answer 2' });
});

test('without a message, gives the last run of a session at rest, and the current one of a session that works', async () => {
  const s = await followed({ run: 1 }, { run: 2 });
  const rest = description({ phase: 'idle', runs: 2, last: s.last });
  expect((await all(s.follow(() => rest))).at(-1)).toMatchObject({ type: 'result', text: 'answer 2' });
  const first = { ...ended({ run: 1 }), head: s.head };
  const look = looking(3, description({ runs: 2, last: first }), rest);
  const events = await all(s.follow(look.at));
  expect(texts(events)).toEqual(['answer 2']);
  expect(events.at(-1)).toMatchObject({ type: 'result', text: 'answer 2' });
  expect(look.times).toBeGreaterThan(3);
});

test('waits for the run of a message that no worker has seen yet, although the memo says idle', async () => {
  const s = await followed({ run: 1 }, { run: 2 });
  const unseen = description({ phase: 'idle', unseen: true, runs: 1, last: { ...ended({ run: 1 }), head: s.head } });
  const look = looking(3, unseen, description({ phase: 'idle', runs: 2, last: s.last }));
  const events = await all(s.follow(look.at));
  expect(texts(events)).toEqual(['answer 2']);
  expect(events.at(-1)).toMatchObject({ type: 'result', text: 'answer 2' });
});

test.each([
  ['cancelled', 'session s-1 was cancelled and never took the message'],
  ['terminated', 'session s-1 was terminated and never took the message'],
] as const)('says that a session was %s before it took the message (L61)', async (status, sentence) => {
  const s = await followed({ run: 1, messages: ['a'] });
  const closed = description({ status, phase: 'closed', runs: 1, last: s.last });
  const following = all(s.follow(() => closed, { messageId: message('b') }));
  await expect(following).rejects.toThrow(sentence);
  await expect(following).rejects.toMatchObject({ kind: 'closed' });
});

test('says what the memo knows when not even the run’s start could be stored', async () => {
  const s = await followed();
  const terminal = { reason: 'model_error', detail: 'the store is full' } as const;
  const last = { ...ended({ run: 1, messages: ['a'], terminal }), head: null };
  const look = description({ phase: 'idle', runs: 1, last });
  expect(await all(s.follow(() => look, { messageId: message('a') }))).toMatchObject([
    { type: 'result', reason: 'model_error', detail: 'the store is full', text: '' },
  ]);
});

test('tells once that the server does not answer, once that it does again, and goes on', async () => {
  const s = await followed({ run: 1, messages: ['a'] });
  let looks = 0;
  const look = () => {
    looks += 1;
    if (looks === 2 || looks === 3) throw new ClientProblem('unanswered', 'the server is away');
    return looks < 6 ? description() : description({ last: s.last, runs: 1, phase: 'idle' });
  };
  const onTrouble = vi.fn();
  expect(texts(await all(s.follow(look, { messageId: message('a'), onTrouble })))).toEqual(['answer 1']);
  expect(onTrouble.mock.calls).toEqual([['the server is away'], [null]]);
});

test('ends without a result when it is told to', async () => {
  const s = await followed();
  const stop = new AbortController();
  await s.tell(1, start(1));
  const seen: string[] = [];
  for await (const event of s.follow(() => description({ runs: 1 }), { signal: stop.signal })) {
    seen.push(event.type);
    stop.abort();
  }
  expect(seen).toEqual(['run_start']);
});

test('gives the result only when the session says so too, so that whoever looks after it finds the run ended', async () => {
  const s = await followed({ run: 1, messages: ['a'] });
  await s.tell(1, start(1), end(1, s.head, 'a'));
  const look = looking(4, description({ runs: 1 }), description({ runs: 1, last: s.last }));
  await all(s.follow(look.at, { messageId: message('a') }));
  expect(look.times).toBeGreaterThan(4);
});
