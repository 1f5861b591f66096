// A timeline in a terminal, and the lines of `perdure logs`.
import { expect, test } from 'vitest';
import { formatLoggedCall, readTranscript, stepLine } from '../../../cli/commands/logs.ts';
import { createPaint } from '../../../client/paint.ts';
import { timelineLines } from '../../../cli/render/timeline.ts';
import type { Bar, BarSegment } from '../../../client/sessions/history/bars.ts';
import type { Iteration } from '../../../client/sessions/history/iterations.ts';
import type { Step } from '../../../client/sessions/history/steps.ts';
import type { PendingApproval } from '../../../workflows/contract/people.ts';
import { callBlock, reply, session, textBlock } from '../../support/transcript.ts';

const plain = createPaint(false);

function bar(
  iteration: number,
  segments: readonly (readonly [BarSegment['kind'], number])[],
  more: Partial<Bar> = {},
): Bar {
  let at = 0;
  const drawn = segments.map(([kind, long]) => ({ kind, from: at, to: (at += long), what: kind }));
  const of: Iteration = {
    run: 1,
    iteration,
    position: null,
    reply: null,
    transitions: iteration > 1 ? ['next_turn'] : [],
    compacted: false,
    ended: null,
    after: 0,
  };
  return { of, segments: drawn, from: 0, to: at, workers: [], died: 0, open: false, ...more };
}

test('each iteration is a row: its bar, how long it took, why it came, who worked on it (O19)', () => {
  const bars = [
    bar(
      1,
      [
        ['model', 3_000],
        ['tools', 1_000],
      ],
      { workers: ['box/1/2/3'] },
    ),
    bar(
      2,
      [
        ['gap', 500],
        ['model', 500],
      ],
      { workers: ['box/1/2/3'], died: 1, open: true },
    ),
  ];
  expect(timelineLines(plain, bars, { columns: 90, note: null })).toEqual([
    'm model  t tools  ! no worker  (the length of a bar grows with the square root of its',
    'time)',
    'run 1',
    `    #1 ${'m'.repeat(30)}${'t'.repeat(10)}        4.0 s  by box/1/2/3`,
    `    #2 ${'!'.repeat(10)}${'m'.repeat(10)}${' '.repeat(20)}      1.0 s …  next turn · 1 attempt died`,
  ]);
  expect(timelineLines(plain, [], { columns: 90, note: null })).toEqual(['no iteration has begun']);
});

test('a part that is short is not lost, a bar fits the terminal, and nothing of a worker’s name acts on it (O19)', () => {
  const bars = [
    bar(
      1,
      [
        ['model', 100_000],
        ['waiting', 1],
        ['tools', 100],
      ],
      { workers: ['\u001b]0;x\u0007'] },
    ),
  ];
  const [, , row = ''] = timelineLines(plain, bars, { columns: 200, note: null });
  expect(row).toMatch(/#1 m{38}wt /);
  expect(row).toContain(String.raw`by \x1b]0;x\x07`);
  const narrow = timelineLines(plain, bars, { columns: 40, note: 'half is gone' });
  expect(narrow.at(-1)).toMatch(/#1 m{8}wt /);
  expect(narrow).toContain('! half is gone');
});

const step: Step = {
  name: 'callModel',
  run: 2,
  iteration: 7,
  askedAt: Date.UTC(2026, 0, 2, 3, 4, 5),
  beganAt: Date.UTC(2026, 0, 2, 3, 4, 8),
  endedAt: Date.UTC(2026, 0, 2, 3, 4, 10),
  attempt: 2,
  worker: 'box/1/2/3',
  failure: 'heartbeat timeout',
  decided: false,
  delegated: false,
  endsCalls: [],
};

test('a step is a line: when, of which iteration, how long, by whom, and why an attempt before it died (O19)', () => {
  expect(stepLine(plain, step)).toBe(
    '2026-01-02 03:04:08 UTC  run 2 #7    model               2.0 s  after 3.0 s  attempt 2: heartbeat timeout  by box/1/2/3',
  );
  const open = { ...step, iteration: null, beganAt: null, endedAt: null, attempt: 1, worker: null, failure: null };
  expect(stepLine(plain, open)).toBe('2026-01-02 03:04:05 UTC  run 2       model               waits');
});

test('a call that waits says so, for how long, and what it would do; the step that found it out asked (O19)', async () => {
  const input = { description: 'Runs the tests.', command: 'npm test', timeout_ms: 600_000 };
  const called = reply([textBlock('I test.'), callBlock('t-1', input, 'bash')], { iteration: 7 });
  const entries = [{ kind: 'run_started', run: 2 }, called];
  const transcript = async function* () {
    for (const entry of entries) yield await Promise.resolve({ entry });
  } as never;
  const asked = { name: 'runTool', attempt: 1, failure: null, askedAt: 0, beganAt: 0, endedAt: 3 };
  const steps = [step, { ...step, ...asked }];
  const waits = { call: 'c-1', tool: 'bash', index: 1, askedAt: Date.now() - 5 * 60_000 } as PendingApproval;
  const { callsOf, hasAsked, named } = await readTranscript({ transcript }, { session, approvals: [waits] }, steps);
  const [model, tool] = steps as [Step, Step];
  expect([hasAsked(model), hasAsked(tool)]).toEqual([false, true]);
  expect(stepLine(plain, tool, named(tool), hasAsked(tool))).toMatch(/ run 2 #7 {4}bash {16}asked {2}by /);
  expect(callsOf(tool).map((call) => formatLoggedCall(plain, call))).toEqual([
    expect.stringMatching(/^ {4}└ bash npm test {2}waits for a decision, for 5 min( \d s)? so far$/),
  ]);
  const ofAgent = { ...waits, agent: { session, call: 'c-2', path: ['helper'] } };
  const others = await readTranscript({ transcript }, { session, approvals: [ofAgent] }, steps);
  expect([others.callsOf(tool), others.hasAsked(tool)]).toEqual([[], false]);
});
