// A follower that is read more slowly than its session works: what waits for it in memory has a
// bound.
import { expect, test } from 'vitest';
import type { LiveEvent } from '../../store/live/events.ts';
import type { Followed } from '../../client/follow/news.ts';
import { description, followed, message } from './support.ts';

const start: LiveEvent = {
  type: 'run_start',
  run: 1,
  queryId: 'c.1',
  depth: 0,
  cwd: '/work',
  model: 'm',
  scripted: false,
};
const said: LiveEvent = { type: 'text_delta', iteration: 1, index: 0, text: 'x' };

test('who reads too slowly is shown the rest when it is stored, and what waits for them has a bound (Q11)', async () => {
  const s = await followed({ run: 1, messages: ['a'] });
  const lines: string[] = [];
  let told = 0;
  let isLeft = (): void => undefined;
  const left = new Promise<void>((resolve) => (isLeft = resolve));
  const live = async function* () {
    try {
      yield { step: 1, attempt: 1, ...start };
      for (; told < 100_000; told += 1) yield { step: 1, attempt: 1, ...said };
    } finally {
      isLeft();
    }
  };
  let now = description({ runs: 1 });
  const options = { messageId: message('a'), onNotice: (line: string) => lines.push(line) };
  const seen: Followed[] = [];
  for await (const event of s.follow(() => now, options, { live: live as never })) {
    if (seen.push(event) > 1) continue;
    await left;
    now = description({ last: s.last, runs: 1, phase: 'idle' });
  }
  expect(told).toBeLessThan(20_000);
  expect(lines).toEqual(['each step is shown when it is stored, for now: it is read too slowly']);
  expect(seen.at(-1)).toMatchObject({ type: 'result', text: 'answer 1' });
});
