import { describe, expect, inject, test } from 'vitest';
import type { Entry } from '../../store/log/entries.ts';
import { defaultHandover, type HandoverLimits } from '../../workflows/contract/session.ts';
import { harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { crowdOf, playedTogether, scenarios, type Scenario } from '../support/scenarios.ts';

const uncached = inject('maxCachedWorkflows') === 0;
const goesRound = ({ transitions }: Scenario): boolean => transitions.length > 0;

/** Those of one configuration at once, on one worker. */
async function plays(group: readonly Scenario[], handover?: HandoverLimits) {
  const crowd = crowdOf(group);
  const config = group[0]?.config;
  const h = await harness({
    script: crowd.script,
    ...(handover ? { handover } : {}),
    ...(config ? { worker: { config } } : {}),
  });
  const playing = group.map(async (scenario) => {
    const { text, options } = crowd.opening(scenario, h.cwd);
    const session = await h.open(text, options);
    const { reason, transitions, turns, requests, told = '' } = scenario;
    const ended = await session.ended(1);
    expect(ended.terminal.reason).toBe(reason);
    expect(ended).toMatchObject({ turns, iterations: transitions.length + 1 });
    const entries = await session.entries();
    expect(entries.flatMap((entry) => (entry.kind === 'transition' ? [entry.reason] : []))).toEqual(transitions);
    const asked = crowd.asked(scenario);
    expect(asked).toHaveLength(requests);
    expect(JSON.stringify(asked.at(-1))).toContain(told);
    answersEveryCall(entries);
    const { raw } = await session.handle.describe();
    const handed = raw.workflowExecutionInfo?.firstRunId !== raw.workflowExecutionInfo?.execution?.runId;
    if (!handover) await keepHistory(scenario.name, session.handle);
    return { handed };
  });
  await Promise.allSettled(playing);
  expect(h.model.problems).toEqual([]);
  expect(h.bodies()).toHaveLength(group.reduce((sum, { requests }) => sum + requests, 0));
  return playing;
}

describe('on a real server', () => {
  // Where no workflow is kept in memory, those that go round are played below.
  const played = scenarios.filter((scenario) => !uncached || !goesRound(scenario));
  const outcomeOf = playedTogether(played, plays);
  test.each(played.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    await outcomeOf(scenario);
  });
});

/** Where no workflow is kept in memory: nothing that a handover forgets can hide there. */
describe.runIf(uncached)('continued as new at every iteration (L4)', () => {
  const played = scenarios.filter(goesRound);
  const outcomeOf = playedTogether(played, (group) => plays(group, { ...defaultHandover, iterations: 1 }));
  test.each(played.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    expect((await outcomeOf(scenario)).handed).toBe(true);
  });
});

/** L39: also when no model call follows. */
function answersEveryCall(entries: readonly Entry[]): void {
  let open: number[] = [];
  for (const entry of entries) {
    if (entry.kind === 'reply') {
      expect(open).toEqual([]);
      open = entry.message.content.flatMap((block, index) => (block.type === 'tool_use' ? [index] : []));
    }
    if (entry.kind === 'outcomes') {
      const answered = entry.outcomes.map(({ index }) => index);
      expect(answered).toEqual(open.slice(0, answered.length));
      open = open.slice(answered.length);
    }
  }
  expect(open).toEqual([]);
}
