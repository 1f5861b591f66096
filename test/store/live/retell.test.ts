// Watchers are told of the end of a call.
import { expect, test } from 'vitest';
import { toolEndEvent } from '../../../store/live/tell.ts';
import type { CallLog } from '../../../store/log/entries.ts';
import { outcome } from '../../support/transcript.ts';

test.each<[CallLog['outcome'], true | undefined]>([
  ['ok', undefined],
  ['error', undefined],
  ['cancelled', undefined],
  ['unknown', true],
  ['not_run', true],
])('says of the outcome %s whether its time is that of a tool (L40)', (how, untimed) => {
  const log: CallLog = { key: null, name: 'bash', decision: 'allowed', duration: 34, outcome: how };
  const end = toolEndEvent(1, outcome(0, 'it', { log }));
  expect(end.durationMs).toBe(34);
  expect(end.untimed).toBe(untimed);
});
