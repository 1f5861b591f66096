// A session of many turns: whoever takes it over replays what its workflow run holds, so that must
// stay small.
import { expect, test } from 'vitest';
import { reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { chainOf } from '../support/chain.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

/** A turn whose call is no tool's takes two activities: twelve events. */
const EVENTS = 12;
/** What a turn that was under way may add, and the workflow run's own first and last events. */
const MORE = 30;
const { events: most, betweenRuns = most } = defaultHandover;

test('a workflow run is handed over at a few hundred events, and earlier when a run has ended (L4)', async () => {
  const turns = { first: Math.ceil(most / EVENTS) + 2, second: Math.ceil(betweenRuns / EVENTS) };
  let n = 0;
  const script = () => {
    n += 1;
    const last = n === turns.first || n === turns.first + turns.second;
    return last ? reply('Done.') : reply([toolUse(`nothing-${n}`, { n })]);
  };
  const h = await harness({ script });
  const session = await h.open('Go.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: turns.first });
  await session.send('Go on.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' }, turns: turns.second });
  const lengths = async (): Promise<readonly number[]> => {
    const all: number[] = [];
    for await (const { events } of chainOf(h.client, session)) all.push(events?.length ?? 0);
    return all;
  };
  // Idle again, with next to nothing to replay.
  const [first, second, idle] = await until(async () => {
    const found = await lengths();
    return found.length === 3 && found;
  });
  expect(first).toBeGreaterThanOrEqual(most);
  expect(first).toBeLessThan(most + MORE);
  expect(second).toBeGreaterThanOrEqual(betweenRuns);
  expect(second).toBeLessThan(most);
  expect(idle).toBeLessThan(MORE);
});
