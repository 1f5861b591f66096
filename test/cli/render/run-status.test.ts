// What the line below a followed run says, event by event.
import { expect, test } from 'vitest';
import type { Followed } from '../../../client/follow/news.ts';
import { nextStatus, type RunStatus, statusText } from '../../../cli/render/run-status.ts';
import { noUsage } from '../../../workflows/contract/loop.ts';

const at = { step: 1, attempt: 1 };
const start = {
  type: 'run_start',
  run: 1,
  queryId: 'c',
  depth: 0,
  cwd: '/w',
  model: 'm',
  scripted: false,
  ...at,
} as const;
const ask = (iteration: number, attempt = 1): Followed => ({
  type: 'request_start',
  iteration,
  model: 'claude-a',
  ...at,
  attempt,
});
const tool = (type: 'tool_start' | 'tool_end', index: number, name: string): Followed => {
  const facts = { iteration: 1, index, name, ...at };
  return type === 'tool_start'
    ? { type, early: false, ...facts }
    : { type, isError: false, content: '', durationMs: 1, ...facts };
};
const reply = (tokens: number, usd: number | null): Followed => ({
  type: 'reply',
  iteration: 1,
  stopReason: 'tool_use',
  fate: 'whole',
  spend: { usage: { ...noUsage, input: tokens }, usd },
  ...at,
});

/** The text after each event, a second apart, without its moving first character. */
function texts(events: readonly Followed[]): readonly (string | null)[] {
  let status: RunStatus | null = null;
  return events.map((event, n) => {
    status = nextStatus(status, event, n * 1_000);
    return status && statusText(status, n * 1_000).slice(2);
  });
}

test('the line tells what runs, in which iteration, since when and what it has cost (O18)', () => {
  const delta = { type: 'text_delta', iteration: 1, index: 0, text: 'a', ...at } as const;
  const use = { type: 'tool_use', iteration: 1, index: 1, id: 't', name: 'bash', input: {}, ...at } as const;
  const events = [start, ask(1), delta, delta, use, reply(1_200, 0.5), tool('tool_start', 1, 'bash')];
  expect(texts(events)).toEqual([
    'starting',
    'asks claude-a · iteration 1',
    'the model writes · iteration 1',
    'the model writes, 1 s · iteration 1',
    'the model calls bash · iteration 1',
    'the model calls bash, 1 s · iteration 1 · 1,200 tokens · $0.50',
    'runs bash · iteration 1 · 1,200 tokens · $0.50',
  ]);
});

test('tools that run beside each other are named until each has ended, then the loop goes on (O18)', () => {
  const events = [ask(1), tool('tool_start', 0, 'read'), tool('tool_start', 1, 'bash'), tool('tool_end', 0, 'read')];
  expect(texts([...events, tool('tool_end', 1, 'bash'), ask(2, 3)]).slice(1)).toEqual([
    'runs read · iteration 1',
    'runs read, bash · iteration 1',
    'runs bash · iteration 1',
    'working · iteration 1',
    'asks claude-a again, attempt 3 · iteration 2',
  ]);
});

test('a price that is not known is said, a run that is over has no line, and the next begins anew (O18)', () => {
  const over = { type: 'run_end', ended: {}, head: '', ...at } as unknown as Followed;
  const [, paid, none, next] = texts([start, reply(10, null), over, start]);
  expect([paid, none, next]).toEqual(['starting, 1 s · 10 tokens · cost unknown', null, 'starting']);
});

test('a question keeps the line until the last is decided, then it names what still runs (O18)', () => {
  const asked = (type: 'approval' | 'approval_settled', call: string) => ({ type, call }) as unknown as Followed;
  const events = [ask(1), tool('tool_start', 0, 'read'), asked('approval', 'a'), asked('approval', 'b')];
  expect(texts([...events, asked('approval_settled', 'a'), asked('approval_settled', 'b')]).slice(2)).toEqual([
    'waits for a decision · iteration 1',
    'waits for a decision, 1 s · iteration 1',
    'waits for a decision, 2 s · iteration 1',
    'runs read · iteration 1',
  ]);
});

test('it tells how full the context window is, where it is known, and that a compaction emptied it (O18)', () => {
  const compacted: Followed = {
    type: 'compaction_end',
    iteration: 2,
    before: 90_000,
    after: 20_000,
    kept: 1,
    summary: 's',
    ...at,
  };
  const [, before, full, , less] = texts([{ ...start, window: 200_000 }, ask(1), reply(90_000, 0), ask(2), compacted]);
  expect([before, full, less]).toEqual([
    'asks claude-a · iteration 1',
    'asks claude-a, 1 s · iteration 1 · 90,000 tokens · $0 · context 45 %',
    'asks claude-a, 3 s · iteration 2 · 90,000 tokens · $0 · context 10 %',
  ]);
});

test('where there is not enough room for all of it, the tokens go first, then the cost (O18)', () => {
  const status = nextStatus(nextStatus(null, { ...start, window: 100 }, 0), reply(1_200, 0.5), 0) as RunStatus;
  expect([80, 38, 25].map((columns) => statusText(status, 0, columns).slice(2))).toEqual([
    'starting · 1,200 tokens · $0.50 · context 1200 %',
    'starting · $0.50 · context 1200 %',
    'starting · context 1200 %',
  ]);
});
