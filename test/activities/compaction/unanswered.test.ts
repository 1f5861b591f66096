// L14: a summary waits for the small model as a reply waits for its own: Temporal tries again, and
// no wait is a failure of L10.
import { APIError } from '@anthropic-ai/sdk';
import { expect, test } from 'vitest';
import { compact } from '../../../activities/compaction/compact.ts';
import type { Compact } from '../../../workflows/contract/activities.ts';
import { MODEL_ATTEMPT_DIED } from '../../../workflows/contract/failures.ts';
import { noUsage } from '../../../workflows/contract/loop.ts';
import { callBlock, outcome, outcomes, reply, runStarted, textBlock, user } from '../../support/transcript.ts';
import { thrown } from '../../support/thrown.ts';
import { attemptOf, compactionBench, saying, type Answer } from './support.ts';

const status = (code: number, headers: Record<string, string> = {}): Error =>
  APIError.generate(code, { error: { message: 'sorry' } }, 'sorry', new Headers(headers));
const limited = (seconds: number): Error => status(429, { 'retry-after': `${seconds}` });

/** Cut in the middle. */
const broken: Answer = async function* () {
  for await (const event of saying('half')) {
    if (event.type === 'content_block_stop') return;
    yield event;
  }
};

async function run(answers: readonly Answer[], more: Partial<Compact> = {}) {
  const round = (n: number) => [
    reply([textBlock(`Round ${n}.`), callBlock(`c${n}`)]),
    outcomes(outcome(1, 'x'.repeat(400))),
  ];
  const entries = [runStarted(1), user('Go.'), ...[1, 2, 3, 4, 5, 6].flatMap(round)];
  const bench = await compactionBench({ entries, answers });
  const input = { ...bench.request, trigger: 'auto', ...more } as const;
  const compactAt = (attempt = attemptOf(), now = 0) => compact({ ...bench.deps, now: () => now })(attempt, input);
  return { ...bench, compact: compactAt };
}

test.each<[string, Answer, number]>([
  ['a rate limit, waited in full', limited(6), 6_000],
  ['an overload', status(529), 1],
  ['an error of the server', status(500), 1],
  ['no words', '', 1],
])('what may pass is another attempt after a wait that holds no slot: %s (L14 L15)', async (_, answer, delay) => {
  const { compact: go, lines } = await run([answer, 'Short.']);
  const attempt = attemptOf();
  const failure = await thrown(go(attempt));
  expect([failure.type, failure.nonRetryable, failure.nextRetryDelay]).toEqual([MODEL_ATTEMPT_DIED, false, delay]);
  expect(lines.map(({ type }) => type)).toEqual(['compaction_start', 'retry', 'fate']);
  expect(lines[1]).toMatchObject({ failures: 1, delayMs: delay });
  expect((await go(attemptOf(2, attempt.left()), delay)).kind).toBe('compacted');
});

test('ten retries, then it has failed once; what was billed on the way is counted (L14 L51)', async () => {
  const { compact: go, asked } = await run([broken, ...Array.from({ length: 10 }, () => status(500))]);
  let left: unknown;
  for (let number = 1; number <= 10; number += 1) {
    const attempt = attemptOf(number, left);
    await thrown(go(attempt));
    left = attempt.left();
  }
  const result = await go(attemptOf(11, left));
  expect(result).toMatchObject({ kind: 'failed', detail: expect.stringContaining('11 attempts failed') });
  expect(result.spend.usage).toMatchObject({ ...noUsage, input: 1_000, output: 1 });
  expect(asked).toHaveLength(11);
});

test('three empty texts in a row are a failure (L15)', async () => {
  const { compact: go } = await run(['', '', '']);
  const first = attemptOf();
  await thrown(go(first));
  const second = attemptOf(2, first.left());
  await thrown(go(second));
  const result = await go(attemptOf(3, second.left()));
  expect(result).toMatchObject({ kind: 'failed', detail: expect.stringContaining('answered with nothing') });
});

test('a wait of over a minute parks the run, announced, and the count goes on after it (L14)', async () => {
  const { compact: go, lines } = await run([limited(90)], { failures: 2 });
  expect(await go()).toMatchObject({ kind: 'parked', waitMs: 90_000, failures: 3 });
  expect(lines).toContainEqual(expect.objectContaining({ type: 'retry', failures: 3, delayMs: 90_000 }));
  const spent = await run([limited(90)], { failures: 10 });
  expect(await spent.compact()).toMatchObject({ kind: 'failed' });
});

test('a wait that was announced and never reported is kept by the next attempt, which remembers nothing (L14)', async () => {
  const { compact: go, asked } = await run([limited(6), 'Short.']);
  await thrown(go());
  expect(await thrown(go(attemptOf(2), 2_000))).toMatchObject({ nextRetryDelay: 4_000 });
  expect(asked).toHaveLength(1);
  expect((await go(attemptOf(3), 6_000)).kind).toBe('compacted');
});

test('a reactive one does not park: it has failed, and the error that made it necessary is shown (L24)', async () => {
  const { compact: go, lines } = await run([limited(90)], { trigger: 'reactive' });
  expect(await go()).toMatchObject({ kind: 'failed', detail: expect.stringContaining('429') });
  expect(lines.map(({ type }) => type)).not.toContain('retry');
});

test('what does not pass fails at once (L10)', async () => {
  const { compact: go, asked } = await run([status(401)]);
  expect(await go()).toMatchObject({ kind: 'failed', detail: expect.stringMatching(/could not be made: 401/) });
  expect(asked).toHaveLength(1);
});

test('there is no further attempt when what was left is spent (L51)', async () => {
  const { compact: go } = await run([broken], { left: { tokens: 1_000 } });
  expect(await go()).toMatchObject({
    kind: 'failed',
    detail: expect.stringContaining('the budget of the run is spent'),
    spend: { usage: { input: 1_000 } },
  });
});
