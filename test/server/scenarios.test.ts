import { describe, expect, inject, it } from 'vitest';
import type { Entry } from '../../activities/transcript/log/entries.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { harness, type Harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { fillWorkspace, scenarios, type Scenario } from '../support/scenarios.ts';

const uncached = inject('maxCachedWorkflows') === 0;
const goesRound = ({ transitions }: Scenario): boolean => transitions.length > 0;

describe('on a real server', () => {
  // Where no workflow is kept in memory, those that go round are played below.
  const played = scenarios.filter((scenario) => !uncached || !goesRound(scenario));
  it.each(played.map((scenario) => [scenario.name, scenario] as const))('%s', async (_name, scenario) => {
    const h = await harness({ script: { replies: scenario.replies }, ...configured(scenario) });
    const session = await plays(h, scenario);
    await keepHistory(scenario.name, session.handle);
  });
});

/** Where no workflow is kept in memory: nothing that a handover forgets can hide there. */
describe.runIf(uncached)('L4 continued as new at every iteration', () => {
  it.each(scenarios.filter(goesRound).map((scenario) => [scenario.name, scenario] as const))(
    '%s',
    async (_name, scenario) => {
      const h = await harness({
        script: { replies: scenario.replies },
        handover: { ...defaultHandover, iterations: 1 },
        ...configured(scenario),
      });
      const session = await plays(h, scenario);
      const { raw } = await session.handle.describe();
      const handed = raw.workflowExecutionInfo?.firstRunId !== raw.workflowExecutionInfo?.execution?.runId;
      expect(handed).toBe(true);
    },
  );
});

async function plays(h: Harness, { options, reason, transitions, turns, requests }: Scenario) {
  fillWorkspace(h.cwd);
  const session = await h.open('Do it.', options);
  const ended = await session.ended(1);
  expect(ended.terminal.reason).toBe(reason);
  expect(ended).toMatchObject({ turns, iterations: transitions.length + 1 });
  const entries = await session.entries();
  expect(entries.flatMap((entry) => (entry.kind === 'transition' ? [entry.reason] : []))).toEqual(transitions);
  expect(h.bodies()).toHaveLength(requests);
  expect(h.model.problems).toEqual([]);
  answersEveryCall(entries);
  return session;
}

const configured = ({ config }: Scenario) => (config ? { worker: { config } } : {});

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
