// A replay does the same for each turn of the history, however many there were before it (L4).
import { Worker } from '@temporalio/worker';
import { expect, test, vi } from 'vitest';
import { bundlePath } from '../../worker/bundle.ts';
import { type Counts, findGrown, startCounting } from '../support/count-calls.ts';
import { type KeptTurn, longHistory } from '../support/long-history.ts';
import { oneRuntime } from '../support/one-runtime.ts';

const STRETCH = 40;
/** More calls in a stretch, which is one for each fifth turn of the stretch before it. */
const GROWTH = (STRETCH * STRETCH) / 5;

const TURNS: readonly (readonly [string, KeptTurn])[] = [
  [
    'calls that ran with their reply',
    { of: 'next-turn-after-a-safe-call-and-after-an-effectful-one-l46', from: 20, to: 26, steps: 1 },
  ],
  [
    'two calls beside each other, one of which fails,',
    {
      of: 'a-batch-of-safe-and-effectful-calls-each-with-its-outcome-in-the-model-order-l35',
      from: 14,
      to: 32,
      steps: 3,
    },
  ],
];

test.each(TURNS)('a replay of turns with %s calls each function as often for a late turn (L4)', async (_, turn) => {
  oneRuntime();
  const counting = startCounting();
  try {
    const [none, early, late] = [
      await countReplay(counting, turn, STRETCH),
      await countReplay(counting, turn, 2 * STRETCH),
      await countReplay(counting, turn, 3 * STRETCH),
    ];
    expect(late.size).toBeGreaterThan(300);
    expect(findGrown(subtract(early, none), subtract(late, early), GROWTH)).toEqual([]);
  } finally {
    counting.stop();
  }
});

/** Counts the calls of functions of the workflow. */
async function countReplay(counting: ReturnType<typeof startCounting>, turn: KeptTurn, turns: number): Promise<Counts> {
  const history = longHistory(turn, turns);
  const { workflowId } = history.events[0]?.workflowExecutionStartedEventAttributes ?? {};
  counting.look();
  // The workflow then runs in this thread.
  vi.stubEnv('TEMPORAL_DEBUG', '1');
  try {
    await Worker.runReplayHistory({ workflowBundle: { codePath: bundlePath() } }, history, workflowId ?? '');
  } finally {
    vi.unstubAllEnvs();
  }
  return new Map([...counting.look()].filter(([of]) => of.startsWith('dist/workflow-bundle.js')));
}

function subtract(one: Counts, other: Counts): Counts {
  return new Map([...one].map(([of, count]) => [of, count - (other.get(of) ?? 0)]));
}
