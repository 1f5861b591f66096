import { readdirSync } from 'node:fs';
import { beforeAll, describe, expect, test } from 'vitest';
import { historiesFolder, readHistory } from '../support/kept-history.ts';
import { replayProblems } from '../support/replay-histories.ts';

const kept = readdirSync(historiesFolder).filter((name) => name.endsWith('.json'));

describe('kept histories', () => {
  let problems: ReadonlyMap<string, string>;
  beforeAll(async () => {
    problems = await replayProblems(kept.map((name) => ({ workflowId: name, history: readHistory(name) })));
  }, 300_000);

  test('are kept for every scenario', () => {
    expect(kept.length).toBeGreaterThanOrEqual(14);
  });

  test.each(kept)('%s replays (L3)', (name) => {
    expect(problems.get(name)).toBeUndefined();
  });

  test('a changed order of activities is caught', async () => {
    const name = kept.find((each) => each.includes('next-turn')) ?? '';
    const history = readHistory(name);
    const scheduled = history.events.find(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'perdure.callModel',
    );
    const type = scheduled?.activityTaskScheduledEventAttributes?.activityType;
    if (!type) throw new Error(`${name} has no model call`);
    type.name = 'perdure.runTool';
    const caught = await replayProblems([{ workflowId: name, history }]);
    expect(caught.get(name)).toMatch(/determinism/i);
  });
});
