import { readdirSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { describe, expect, it } from 'vitest';
import { bundlePath } from '../../worker/bundle.ts';
import { oneRuntime } from '../support/one-runtime.ts';
import { historiesFolder, readHistory } from '../support/kept-history.ts';

oneRuntime();

const kept = readdirSync(historiesFolder).filter((name) => name.endsWith('.json'));
const replay = (history: ReturnType<typeof readHistory>): Promise<void> =>
  Worker.runReplayHistory({ workflowBundle: { codePath: bundlePath() } }, history);

describe('kept histories', () => {
  it('are kept for every scenario', () => {
    expect(kept.length).toBeGreaterThanOrEqual(14);
  });

  it.each(kept)('L3 %s replays', async (name) => {
    await replay(readHistory(name));
  });

  it('a changed order of activities is caught', async () => {
    const name = kept.find((each) => each.includes('next-turn')) ?? '';
    const history = readHistory(name);
    const scheduled = history.events.find(
      (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'perdure.callModel',
    );
    const type = scheduled?.activityTaskScheduledEventAttributes?.activityType;
    if (!type) throw new Error(`${name} has no model call`);
    type.name = 'perdure.runTool';
    await expect(replay(history)).rejects.toThrow(/determinism/i);
  });
});
