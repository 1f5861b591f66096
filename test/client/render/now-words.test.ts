// What a running session does, in a line.
import { expect, test } from 'vitest';
import { nowText } from '../../../client/render/outcome-words.ts';
import type { SessionActivity } from '../../../client/sessions/running/running-row.ts';

const step: SessionActivity = {
  kind: 'model',
  step: 'callModel',
  since: 0,
  attempt: 1,
  failure: null,
  isTaken: true,
  worker: null,
  call: null,
  agents: 0,
};
const bash: SessionActivity = { ...step, kind: 'tool', call: { tool: 'bash', input: { command: 'npm test' } } };
const overloaded: SessionActivity = { ...step, attempt: 7, failure: '529 overloaded', isTaken: false };

test.each([
  [[step], 'calls claude-a'],
  [[bash], 'bash npm test'],
  [
    [{ ...bash, call: { tool: 'bash', input: { timeout: 9, command: 'make', description: 'It makes.' } } }],
    'bash make',
  ],
  [[overloaded], 'calls claude-a · attempt 7 · 529 overloaded'],
  [[{ ...step, isTaken: false }], 'calls claude-a · no worker has it yet'],
  [[bash, overloaded], 'calls claude-a · attempt 7 · 529 overloaded · and 1 more step'],
  [[{ ...step, kind: 'agents', step: null, agents: 2 }], 'waits for 2 agents'],
  [[{ ...step, kind: 'compaction', step: 'compact' }], 'compacts the context'],
  [[{ ...step, kind: 'other', step: 'openRun' }], 'opens the run'],
  [[], ''],
] as const)('what goes on is said in a line (F7): %#', (doing, words) => {
  expect(nowText({ doing: doing as readonly SessionActivity[], model: 'claude-a' })).toBe(words);
});
