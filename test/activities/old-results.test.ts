// L8 in the whole loop, without a server: old results are shrunk by a model call, and before a
// compaction or a limit.
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { RunDefaults } from '../../activities/deps.ts';
import { defineTool } from '../../tools/tool.ts';
import { runDefaults } from '../../worker/config/defaults.ts';
import { fault, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { benchDeps, SESSION } from '../support/bench-deps.ts';
import { memoryLoop } from '../../client/testing/memory-loop.ts';
import { tempDir } from '../support/temp-dir.ts';

const SHRUNK = 'An older result, about';

/** About 12,500 tokens a result. */
const big = defineTool({
  name: 'big',
  description: 'Much.',
  inputSchema: z.record(z.string(), z.unknown()),
  risk: 'read',
  recovery: 'rerun',
  call: () => Promise.resolve({ content: 'line of text\n'.repeat(3_840) }),
});

type Looking = {
  readonly turns: number;
  readonly prompt?: number;
  readonly summary?: () => Reply;
  readonly compaction?: Partial<RunDefaults['compaction']>;
  readonly window?: number;
  /** One that does not check what stood before its thinking, unless given. */
  readonly model?: string;
};

/** Four results a turn, for so many turns. */
async function looking({
  turns,
  prompt = 1,
  summary = () => reply('They looked.'),
  compaction,
  window = 200_000,
  model = 'claude-sonnet-5',
}: Looking) {
  let turn = 0;
  const script = (request: ParsedRequest): Reply => {
    if (asksForSummary(request)) return summary();
    turn += 1;
    return turn > turns ? reply('Done.') : reply([1, 2, 3, 4].map((n) => toolUse('big', { turn, n })));
  };
  const models = { 'claude-sonnet-': { window, maxOutput: 8_000, price: null } };
  const defaults = { models, compaction: { ...runDefaults.compaction, collapse: false, ...compaction } };
  const bench = await benchDeps({ script, tools: [big], defaults });
  const run = await memoryLoop(bench.deps, {
    session: SESSION,
    text: 'word '.repeat(prompt),
    options: { cwd: tempDir(), model },
  });
  const marks = run.entries.flatMap(({ kind }) => (kind === 'microcompact' || kind === 'boundary' ? [kind] : []));
  return { ...run, bodies: bench.bodies(), marks, lines: bench.lines, problems: bench.model.problems };
}

test('a model call shows old results as markers, recorded with its reply and told to watchers (L8 L60)', async () => {
  const { bodies, marks, terminal, problems, lines } = await looking({ turns: 4, window: 1_000_000 });
  const shown = bodies.map((body) => JSON.stringify(body).split(SHRUNK).length - 1);
  expect([shown, marks]).toEqual([
    [0, 0, 0, 4, 8],
    ['microcompact', 'microcompact'],
  ]);
  expect([terminal.reason, problems]).toEqual(['completed', []]);
  const told = lines.flatMap((line) => (line.type === 'microcompact' ? [line.results] : []));
  expect(told).toEqual([4, 4]);
});

test('a model that checks what stood before its thinking is shown them as they were, until a compaction (L8 L59)', async () => {
  const { bodies, marks, problems } = await looking({ turns: 4, window: 1_000_000, model: 'claude-sonnet-5-5' });
  expect(bodies.map((body) => JSON.stringify(body).split(SHRUNK).length - 1)).toEqual([0, 0, 0, 0, 0]);
  expect([marks, problems]).toEqual([[], []]);
});

test('what they free makes a compaction unnecessary (L8 L10)', async () => {
  const { marks, terminal, bodies } = await looking({ turns: 5, prompt: 24_000 });
  expect(marks).toEqual(['microcompact', 'microcompact', 'microcompact']);
  expect(bodies.some((body) => asksForSummary(body as ParsedRequest))).toBe(false);
  expect(terminal.reason).toBe('completed');
});

test('with compaction off a run does not end for a limit that they keep it from (L8 L12)', async () => {
  const { marks, terminal } = await looking({ turns: 5, prompt: 30_000, compaction: { enabled: false } });
  expect([marks.length, terminal.reason]).toEqual([3, 'completed']);
});

test('a short rate limit of the small model is waited out, also in a full window, and is no failure of compaction (L10 L14)', async () => {
  let asked = 0;
  const summary = (): Reply => ((asked += 1) > 4 ? reply('They looked.') : fault({ status: 429, retryAfter: 6 }));
  const { terminal, marks, entries } = await looking({ turns: 2, prompt: 81_000, summary });
  expect([terminal.reason, marks, asked]).toEqual(['completed', ['boundary'], 5]);
  expect(JSON.stringify(entries)).not.toContain('compaction_failed');
});
