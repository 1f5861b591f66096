import { expect, it } from 'vitest';
import { absorb } from '../../workflows/machine/absorb.ts';
import type { CallResult } from '../../workflows/machine/events.ts';
import { call, rules, state, toolsRan } from '../support/machine.ts';

it('L34 a call that never ran neither fails nor interrupts a row of failures', () => {
  const failing = { signature: 'read:0', times: 3 };
  const event = toolsRan([call(0), call(1)], { facts: [{ error: true }, { error: true }] });
  const notRun: CallResult = { item: { index: 1, note: 'Not run.' }, facts: { error: true } };
  if (event.kind !== 'tools_ran') throw new Error(event.kind);
  const results = [event.results[0]!, notRun];
  expect(absorb(state({ failing }), rules, { ...event, results }).failing).toEqual({ signature: 'read:0', times: 4 });
  const never = { ...event, results: [notRun, notRun] };
  expect(absorb(state(), rules, never).failing).toBeNull();
});
