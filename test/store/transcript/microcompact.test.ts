// L8: when old tool results are shrunk, and which.
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { planMicrocompact } from '../../../store/view/microcompact.ts';
import { project } from '../../../store/view/project.ts';
import { createTranscripts } from '../../../store/transcript/transcripts.ts';
import {
  boundary,
  callBlock,
  outcome,
  outcomes,
  reply,
  runStarted,
  session,
  snip,
  stored,
  textBlock,
  user,
} from '../../support/transcript.ts';

const MINUTE = 60_000;
const now = 1_000 * MINUTE;
const warm = now - MINUTE;
const cold = now - 6 * MINUTE;

const rounds = (count: number, size: number, at = warm): Entry[] =>
  Array.from({ length: count }, (_, n) => [
    reply([callBlock(`c${n}`)], { at }),
    outcomes(outcome(0, 'x'.repeat(size), { isError: n % 2 === 0 })),
  ]).flat();

test('with a warm cache it acts when it frees 20,000 tokens, and keeps the newest five results (L8)', () => {
  const enough = [user('go'), ...rounds(7, 42_000)];
  const entry = planMicrocompact(enough, now);
  expect(entry).toMatchObject({ kind: 'microcompact', before: 4 });
  expect(entry?.freed).toBeGreaterThanOrEqual(20_000);
  expect(planMicrocompact([user('go'), ...rounds(7, 39_000)], now)).toBeNull();
  const whole = project([...enough, entry as Entry], new Map()).filter((message) =>
    JSON.stringify(message).includes('xxx'),
  );
  expect(whole).toHaveLength(5);
});

test('with a cold cache it acts when it frees anything worth an entry (L8)', () => {
  expect(planMicrocompact([user('go'), ...rounds(7, 5_000, cold)], now)).toMatchObject({ before: 4 });
  expect(planMicrocompact([user('go'), ...rounds(7, 5_000)], now)).toBeNull();
  expect(planMicrocompact([user('go'), ...rounds(7, 1_000, cold)], now)).toBeNull();
  expect(planMicrocompact([user('go'), ...rounds(5, 50_000, cold)], now)).toBeNull();
});

test('what is shrunk, snipped, before the boundary or small is not counted again (L8)', () => {
  const entries = [user('go'), ...rounds(7, 42_000)];
  const once = [...entries, planMicrocompact(entries, now) as Entry];
  expect(planMicrocompact(once, now)).toBeNull();
  expect(planMicrocompact([...once, ...rounds(1, 90_000)], now)).toBeNull();
  expect(planMicrocompact([...once, ...rounds(2, 42_000)], now)).toMatchObject({ before: 8 });
  expect(planMicrocompact([...entries, snip(1)], now)).toBeNull();
  expect(planMicrocompact([...entries, boundary('So far.', 3)], now)).toBeNull();
  expect(planMicrocompact([user('go'), ...rounds(500, 190, cold)], now)).toBeNull();
});

test('results of one reply stay or go together (L8)', () => {
  const many = Array.from({ length: 4 }, (_, n) => callBlock(`m${n}`));
  const wide: Entry[] = [reply(many, { at: warm }), outcomes(...many.map((_, n) => outcome(n, 'x'.repeat(42_000))))];
  expect(planMicrocompact([user('go'), ...wide, ...wide, ...wide], now)).toMatchObject({ before: 2 });
});

test('the choice is one more entry to append, and the same ever after (L8)', async () => {
  const store = memoryStore();
  const entries = [runStarted(1), user('go'), ...rounds(7, 42_000)];
  const { head } = await stored(store, entries);
  const transcripts = createTranscripts(store, () => Promise.resolve(null));
  const base = await transcripts.extend(session, head, []);
  const prepared = transcripts.shrinkResults(base, now, {});
  expect(prepared.added).toMatchObject([{ kind: 'microcompact' }]);
  const next = transcripts.next(prepared, [reply([textBlock('ok')], { at: now })]);
  await store.put(next.bytes);
  const after = await transcripts.extend(session, next.hash, []);
  const { messages: before } = await transcripts.messages(prepared);
  const { messages: later } = await transcripts.messages(transcripts.shrinkResults(after, now + MINUTE, {}));
  expect(later.slice(0, before.length)).toEqual(before);
});
