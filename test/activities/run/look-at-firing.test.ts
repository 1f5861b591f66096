// Whether a firing is its schedule's own, from what the server tells of the schedule (L87).
import { beforeEach, afterEach, expect, test, vi } from 'vitest';
import type { FiringsSeen } from '../../../tools/people/ask-people.ts';
import { lookAtFiring } from '../../../activities/run/look-at-firing.ts';
import { fakeAttempt, SESSION } from '../../support/bench-deps.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
afterEach(() => void vi.useRealTimers());

const own = { workflow: SESSION, run: 'run', startedAt: 1_000 };
const others = (from: number) =>
  Array.from({ length: 10 }, (_, n) => ({ workflow: `x${n}`, run: 'r', startedAt: from + n }));

/** Half a minute passes between two looks. */
function look(...seen: readonly (FiringsSeen | null)[]) {
  const looks = [...seen];
  const firingsOf = () => {
    vi.setSystemTime(Date.now() + 30_000);
    return Promise.resolve((looks.length > 1 ? looks.shift() : looks[0]) ?? null);
  };
  const asked = { schedule: 'perdure.schedule.x', begun: 1_000, step: 0 };
  return lookAtFiring({ ...fakeAttempt(), firingsOf }, asked);
}

test('one that the schedule lists is due, also of a paused one that a person fired, and also when it is listed late (L87)', async () => {
  expect(await look({ paused: false, started: [own] })).toEqual({ due: true });
  expect(await look({ paused: true, started: [own] })).toEqual({ due: true });
  const late = Array.from({ length: 3 }, () => ({ paused: false, started: [] }));
  expect(await look(...late, { paused: false, started: [own] })).toEqual({ due: true });
});

test('one under the same name that was started once more, one that is never listed, and one of no schedule are refused (L87)', async () => {
  const again = { paused: false, started: [{ ...own, run: 'another' }] };
  expect(await look(again)).toEqual({ due: false, why: 'the schedule did not start it' });
  expect(await look({ paused: true, started: [] })).toEqual({ due: false, why: 'the schedule is paused' });
  expect(await look(null)).toEqual({ due: false, why: 'the schedule is not there' });
  expect(await look({ paused: false, started: others(500) })).toMatchObject({ due: false });
});

test('one that waited for a worker while ten more began is taken: the server tells of ten (L87)', async () => {
  expect(await look({ paused: false, started: others(1_001) })).toEqual({ due: true });
});
