// `run` and `watch` beside agents in the background of their session: who works for them goes on
// until none is left.
import { expect, test } from 'vitest';
import type { Followed } from '../../client/follow/news.ts';
import { session } from '../client/support.ts';
import { completed, ends, following, type Play, start, toldToStop } from './following.ts';

const waits: Followed = { type: 'approval_settled', session, call: '1.1.0' };
const oneByOne = (...plays: Play[]): Play => {
  const left = plays.values();
  return (signal, interrupted) => left.next().value!(signal, interrupted);
};
const AT_WORK = 'in the background: waiting for them (Ctrl-C leaves)';

test('goes on while agents work in the background of the session, and says how many (L71)', async () => {
  const run = following(oneByOne(ends(start, completed), ends(start, completed), ends(start, completed)), {
    agents: [2, 1],
  });
  expect(await run.status).toBe(0);
  expect(run.said.slice(1)).toEqual([
    `2 agents still work ${AT_WORK}`,
    `1 agent still works ${AT_WORK}`,
    'details: perdure show s-1',
  ]);
});

test('leaves agents in the background to a worker that stays (L71)', async () => {
  const run = following(oneByOne(ends(start, completed)), { agents: [2], isOurs: false });
  expect(await run.status).toBe(0);
  expect(run.said.at(-1)).toBe('details: perdure show s-1');
});

test('Ctrl-C leaves agents in the background, interrupts nothing, and says how to come back (L71)', async () => {
  const run = following(
    oneByOne(ends(start, completed), async function* (signal) {
      yield waits;
      run.kill('SIGINT');
      await toldToStop(signal);
    }),
    { agents: [1, 1] },
  );
  expect(await run.status).toBe(0);
  expect(run.interrupt).not.toHaveBeenCalled();
  expect(run.said.at(-2)).toContain('follow it with `perdure watch s-1`');
});
