// The live channel's contract, on files and on a real Redis: what a watcher sees of attempts that
// live, die and take each other's place.
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { LiveFate, LiveHeader, LiveWriter } from '../../../store/live/events.ts';
import { fileLive } from '../../../store/live/file-live.ts';
import { redisLive } from '../../../store/live/redis-live.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { redisServer, type RedisServer } from '../../support/redis-server.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { watcher } from '../../support/watcher.ts';

const session = 's-1' as SessionId;
const storedFate: LiveFate = { type: 'fate', fate: 'stored', head: 'h' as Hash };
const died = (why: string): LiveFate => ({ type: 'fate', fate: 'died', why });

let redis: RedisServer;
beforeAll(async () => (redis = await redisServer()));
afterAll(() => redis.kill());

type Opening = Partial<Omit<LiveHeader, 'type' | 'session' | 'step'>>;

const kinds = ['files', 'a Redis (W5)'] as const;

/** On files, the folder is not there yet. */
function channel(kind: (typeof kinds)[number]) {
  const dir = `${tempDir()}/not/there/yet`;
  const live = kind === 'files' ? fileLive({ dir }) : redisLive({ url: redis.url, scope: randomUUID() });
  onTestFinished(live.close);
  const open = (step: number, changes: Opening = {}): LiveWriter =>
    live.open({ session, step, attempt: 1, activity: 'callModel', ...changes });
  const say = (writer: LiveWriter, ...texts: string[]): void => {
    for (const text of texts) writer.write({ type: 'text_delta', iteration: 3, index: 0, text });
  };
  return { live, open, say };
}

const retry = { type: 'retry', iteration: 3, failures: 1, delayMs: 500, error: 'overloaded' } as const;

describe.each(kinds)('on %s', (kind) => {
  test('a session that does not exist yet is waited for, and seen from its first line', async () => {
    const { live, open, say } = channel(kind);
    const seen = watcher(live, session);
    const writer = open(1);
    say(writer, 'a');
    await seen.sees((items) => items.length === 1);
    say(writer, 'b');
    await writer.end(storedFate);
    await seen.sees((items) => items.length === 2);
    expect(seen.items).toMatchObject([
      { type: 'text_delta', text: 'a', step: 1, attempt: 1 },
      { type: 'text_delta', text: 'b', step: 1, attempt: 1 },
    ]);
  });

  test('what a watcher was given of an attempt that died is taken back, with the attempt’s number (L16)', async () => {
    const { live, open, say } = channel(kind);
    const seen = watcher(live, session);
    const first = open(1);
    say(first, 'never ', 'mind');
    await seen.sees((items) => items.length === 2);
    await first.end(died('overloaded'));
    const second = open(1, { attempt: 2 });
    say(second, 'hello');
    await second.end(storedFate);
    await seen.sees((items) => items.length === 4);
    expect(seen.items[2]).toMatchObject({ type: 'tombstone', step: 1, attempt: 1, iteration: 3, why: 'overloaded' });
    expect(seen.said()).toEqual(['hello']);
  });

  test('an attempt that ended without a word is taken back when the next one begins (L16)', async () => {
    const { live, open, say } = channel(kind);
    const seen = watcher(live, session);
    say(open(1), 'cut off by a crash');
    await seen.sees((items) => items.length === 1);
    await open(1, { attempt: 2 }).end(storedFate);
    await seen.sees((items) => items.length === 2);
    expect(seen.items[1]).toMatchObject({ type: 'tombstone', step: 1, attempt: 1 });
  });

  test('who joins late never sees what is void: died, replaced, superseded or given up (L16)', async () => {
    const { live, open, say } = channel(kind);
    const attempts: [number, Opening, string, LiveFate | null][] = [
      [1, { attempt: 1 }, 'died', died('overloaded')],
      [1, { attempt: 2 }, 'crashed', null],
      [1, { attempt: 3 }, 'one', storedFate],
      [2, {}, 'cut by max tokens', storedFate],
      [3, { supersedes: 2 }, 'three', storedFate],
      [4, { activity: 'runTool' }, 'given up', null],
      [5, {}, 'five', storedFate],
    ];
    for (const [step, changes, text, fate] of attempts) {
      const writer = open(step, changes);
      say(writer, text.padEnd(20_000));
      if (fate) await writer.end(fate);
    }
    // Until then it may not have reached the Redis: who joins before is not late.
    await watcher(live, session).sees((items) => items.some(({ step }) => step === 5));
    const seen = watcher(live, session);
    await seen.sees((items) => items.some(({ step }) => step === 5));
    expect(seen.items.map((item) => item.type === 'text_delta' && item.text.trim())).toEqual(['one', 'three', 'five']);
  });

  test('the announcement of a retry is seen although its attempt has died (L14)', async () => {
    const { live, open, say } = channel(kind);
    const seen = watcher(live, session);
    const writer = open(1);
    say(writer, 'void');
    writer.write(retry);
    await writer.end(died('overloaded'));
    await seen.sees((items) => items.some(({ type }) => type === 'retry'));
    expect(seen.said()).toEqual([]);
  });

  test('the deltas of a reply that is asked for again are taken back (L26)', async () => {
    const { live, open, say } = channel(kind);
    const seen = watcher(live, session);
    const cut = open(1);
    say(cut, 'as far as it g');
    await cut.end(storedFate);
    await seen.sees((items) => items.length === 1);
    const again = open(2, { supersedes: 1, retells: 2 });
    say(again, 'as far as it goes');
    await again.end(storedFate);
    await seen.sees((items) => items.length === 3);
    expect(seen.items[1]).toMatchObject({ type: 'tombstone', step: 1, attempt: 1 });
    expect(seen.items[1]).not.toHaveProperty('retold');
    expect(seen.said()).toEqual(['as far as it goes']);
  });

  test.each<[string, number, Opening]>([
    ['the next attempt', 1, { attempt: 2, retells: 1 }],
    ['a later step', 2, { supersedes: 1, retells: 1 }],
  ])(
    'what an attempt showed that died after it had stored it is no void, when %s tells it again (L16 L39)',
    async (_, step, by) => {
      const { live, open, say } = channel(kind);
      const seen = watcher(live, session);
      say(open(1), 'stored');
      await seen.sees((items) => items.length === 1);
      const again = open(step, by);
      say(again, 'stored');
      await again.end(storedFate);
      await seen.sees((items) => items.length === 3);
      const why = 'its reply is stored, and told again';
      expect(seen.items[1]).toMatchObject({ type: 'tombstone', step: 1, attempt: 1, why, retold: true });
      expect(seen.said()).toEqual(['stored']);
    },
  );

  test('what was stored stays, also when another attempt finds it done and says so', async () => {
    const { live, open, say } = channel(kind);
    const first = open(1);
    say(first, 'stored');
    await first.end(storedFate);
    await open(1, { attempt: 2 }).end(storedFate);
    const seen = watcher(live, session);
    await open(2).end(storedFate);
    const next = open(3);
    say(next, 'next');
    await next.end(storedFate);
    await seen.sees((items) => items.length === 2);
    expect(seen.said()).toEqual(['stored', 'next']);
  });

  test('it ends when it is told to, whatever it waits for', async () => {
    const seen = watcher(channel(kind).live, session);
    await seen.stop();
    expect(seen.items).toEqual([]);
  });

  test('steps before the given one are forgotten; those of a later run, and other sessions, stay', async () => {
    const { live, open, say } = channel(kind);
    const other = 's-2' as SessionId;
    const tell = async (writer: LiveWriter, text: string): Promise<void> => {
      say(writer, text);
      await writer.end(storedFate);
    };
    await tell(open(1, { activity: 'openRun' }), 'run 1');
    await tell(live.open({ session: other, step: 1, attempt: 1, activity: 'openRun' }), 'other');
    const before = watcher(live, session);
    await before.sees((items) => items.length === 1);
    await live.forgetBefore(session, 2);
    await tell(open(2, { activity: 'openRun' }), 'run 2');
    await before.sees((items) => items.length === 2);
    const [late, beside] = [watcher(live, session), watcher(live, other)];
    await late.sees((items) => items.length > 0);
    await beside.sees((items) => items.length > 0);
    expect([before.said(), beside.said()]).toEqual([['run 1', 'run 2'], ['other']]);
    expect(late.said().at(-1)).toBe('run 2');
  });

  test('who comes back with a cursor is given what came after it, each line once', async () => {
    const { live, open, say } = channel(kind);
    const writer = open(1);
    say(writer, 'one', 'two');
    const first = watcher(live, session);
    await first.sees((items) => items.length === 2);
    await first.stop();
    say(writer, 'three');
    await writer.end(storedFate);
    const again = watcher(live, session, first.items[0]?.cursor);
    await again.sees((items) => items.length === 2);
    expect(again.said()).toEqual(['two', 'three']);
  });

  test('any number of watchers of a session see all of it, also those that join while it is said', async () => {
    const { live, open, say } = channel(kind);
    const writer = open(1);
    const texts = Array.from({ length: 200 }, (_, n) => `${n}`);
    const seen = [watcher(live, session)];
    for (const text of texts) {
      say(writer, text);
      if (Number(text) % 20 === 0) seen.push(watcher(live, session));
      if (Number(text) % 50 === 0) await seen[0]?.sees((items) => items.length > Number(text));
    }
    await writer.end(storedFate);
    for (const one of seen) await one.sees((items) => items.length === texts.length);
    for (const one of seen) expect(one.said()).toEqual(texts);
  });
});
