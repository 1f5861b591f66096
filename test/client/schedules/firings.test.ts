// The names of firings that a person asks for.
import type { ScheduleDescription } from '@temporalio/client';
import { expect, test } from 'vitest';
import { nextName } from '../../../client/schedules/firings.ts';

const at = (time: string): number => Date.parse(`2026-01-01T${time}Z`);

function seen(...fired: readonly string[]): Pick<ScheduleDescription, 'info'> {
  return { info: { recentActions: fired.map((time) => ({ scheduledAt: new Date(at(time)) })) } } as never;
}

test('a firing is named after its second, and one that is taken gives way to the next (L87)', () => {
  expect(nextName(seen(), 0, at('05:59:30.700'))).toBe(at('05:59:30'));
  expect(nextName(seen('05:59:29', '05:59:30'), 0, at('05:59:30.700'))).toBe(at('05:59:31'));
  expect(nextName(seen('05:59:29'), at('05:59:33'), at('05:59:30.700'))).toBe(at('05:59:34'));
});

test('the name of a firing that is due by the clock is left to it (L87)', () => {
  expect(nextName(seen('05:59:59'), 0, at('05:59:59.900'))).toBe(at('06:00:01'));
  expect(nextName(seen(), 0, at('06:00:00.200'))).toBe(at('06:00:01'));
  expect(nextName(seen('06:00:00'), 0, at('06:00:00.200'))).toBe(at('06:00:01'));
});
