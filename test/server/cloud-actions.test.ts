// How many billable actions of Temporal Cloud a turn takes, by Temporal's published list, counted in
// histories; docs/temporal-cloud.md says the same numbers.
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import type { temporal } from '@temporalio/proto';
import { expect, test } from 'vitest';
import { reply, toolUse, type ReplyBlock } from '../../scripted-model/index.ts';
import { profiles } from '../../workflows/contract/profiles.ts';
import { harness } from '../support/harness.ts';

type Event = temporal.api.history.v1.IHistoryEvent;

/**
 * Counts what an undisturbed history has of actions: starts, signals, updates, activities, timers,
 * changes of search attributes, markers (once a workflow task), and children (two each). Heartbeats
 * and queries are in no history.
 */
function countActions(events: readonly Event[]): number {
  const tasksWithMarkers = new Set(
    events.flatMap(({ markerRecordedEventAttributes: one }) => one?.workflowTaskCompletedEventId?.toString() ?? []),
  );
  const others = events.map((event): number => {
    if (event.startChildWorkflowExecutionInitiatedEventAttributes) return 2;
    const changed = event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes?.indexedFields;
    if (changed) return Object.keys(changed).some((name) => name !== 'TemporalChangeVersion') ? 1 : 0;
    const isAction =
      event.workflowExecutionStartedEventAttributes ??
      event.workflowExecutionSignaledEventAttributes ??
      event.workflowExecutionUpdateAcceptedEventAttributes ??
      event.activityTaskScheduledEventAttributes ??
      event.timerStartedEventAttributes;
    return isAction ? 1 : 0;
  });
  return others.reduce<number>((sum, one) => sum + one, 0) + tasksWithMarkers.size;
}

/** Of a session's first run with so many turns, each with one call but the last. */
async function actionsOf(call: ReplyBlock, turns: number): Promise<number> {
  const calls = Array.from({ length: turns - 1 }, () => reply([call]));
  const h = await harness({ script: [...calls, reply('Done.')] });
  const session = await h.open('Go.');
  await session.ended(1);
  // Signal-with-start is one action, and two events.
  return countActions((await session.handle.fetchHistory()).events ?? []) - 1;
}

test('the events of a session name the code of its worker in a few characters', async () => {
  const h = await harness({ script: [reply('Done.')] });
  const session = await h.open('Go.');
  await session.ended(1);
  const { events } = await session.handle.fetchHistory();
  const ids = (events ?? []).flatMap(
    ({ workflowTaskCompletedEventAttributes: task, activityTaskStartedEventAttributes: started }) =>
      (task ?? started)?.workerVersion?.buildId ?? [],
  );
  expect(ids.length).toBeGreaterThan(3);
  expect(ids.filter((id) => !/^\d+\.\d+\.\d+\+[0-9a-f]{8}$/.test(id))).toEqual([]);
});

const page = readFileSync(resolve(import.meta.dirname, '../../docs/temporal-cloud.md'), 'utf8');

test('a turn and a run take as many actions of Temporal Cloud as its page says', async () => {
  const [, turn = ''] = /^\| a turn [^|]*\| (\d+) \|$/m.exec(page) ?? [];
  const [, run = ''] = /^\| a run [^|]*\| (\d+) \|$/m.exec(page) ?? [];
  for (const call of [toolUse('glob', { pattern: '*' }), toolUse('bash', { command: 'echo x >> log' })]) {
    const [short, long] = [await actionsOf(call, 2), await actionsOf(call, 12)];
    // On a busy machine two changes of the session's facts may be one write, or not.
    expect(Math.round((long - short) / 10)).toBe(Number(turn));
    expect(Math.abs(short - 2 * Number(turn) - Number(run))).toBeLessThanOrEqual(2);
  }
});

test('the page says how often a running call sends a heartbeat, which is an action', () => {
  expect(page).toContain(`every ${profiles.fleet.throttle.replace('s', ' s')} `);
});
