// Checks the messages that a program gets for the entries of a transcript and for the end of a run.
import { expect, test } from 'vitest';
import { messagesOfEntry, resultMessage } from '../../../client/agent-sdk/messages.ts';
import type { RunOutcome } from '../../../client/sessions/outcome.ts';
import { callBlock, outcome, outcomes, reply, session, textBlock, user } from '../../support/transcript.ts';

const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
const ended = (more: Partial<RunOutcome> = {}): RunOutcome => ({
  type: 'result',
  sessionId: session,
  run: 1,
  reason: 'completed',
  turns: 2,
  iterations: 2,
  transitions: [],
  text: 'Done.',
  usage,
  costUsd: 0.5,
  durationMs: 7,
  ...more,
});

test('a reply becomes a message under names and fields that such programs know (Q7)', () => {
  const said = reply([textBlock('I look.'), callBlock('a', { path: 'x' })]);
  const [message] = messagesOfEntry(session, said, 3, null);
  expect(message).toMatchObject({ type: 'assistant', session_id: session });
  expect(message).toHaveProperty('message.content.1', { ...callBlock('a', { file_path: 'x' }), name: 'Read' });
  const uuid = (position: number) => messagesOfEntry(session, said, position, null)[0]?.uuid;
  expect(uuid(3)).toBe(message?.uuid);
  expect(uuid(4)).not.toBe(message?.uuid);
  expect(messagesOfEntry(session, user('x'), 0, null)).toEqual([]);
});

test('each outcome is a message of its own, with what the tool answers with, or its error (Q7)', () => {
  const said = reply([callBlock('a', { path: 'x' }), callBlock('b', { path: 'y' })]);
  const given = outcomes(outcome(0, '     1\tone'), outcome(1, 'none there', { isError: true }));
  const told = messagesOfEntry(session, given, 4, said);
  expect(new Set(told.map(({ uuid }) => uuid)).size).toBe(2);
  const block = { type: 'tool_result', tool_use_id: 'call-0', content: '     1\tone' };
  const failed = { type: 'tool_result', tool_use_id: 'call-1', content: 'none there', is_error: true };
  expect(told).toMatchObject([{ message: { content: [block] } }, { message: { content: [failed] } }]);
  expect(told).toMatchObject([
    { tool_use_result: { type: 'text', file: { filePath: 'x', content: 'one' } } },
    { tool_use_result: 'Error: none there' },
  ]);
  expect(messagesOfEntry(session, given, 4, null)).toMatchObject([
    { tool_use_result: '     1\tone' },
    { tool_use_result: 'Error: none there' },
  ]);
});

test('a result has what was spent by each model, what was denied, and its value (Q7)', () => {
  const spend = { usage, usd: 0.25 };
  const spent = new Map([
    [
      'claude-test',
      { spend: { usage: { ...usage, input: 2, output: 4, cacheRead: 6, cacheWrite: 8 }, usd: 0.5 }, searches: 0 },
    ],
  ]);
  const denied = outcome(0, 'no', {
    log: { key: null, name: 'read', decision: 'denied', duration: 0, outcome: 'error' },
  });
  const entries = [
    reply([callBlock('a', { path: 'x' })], { spend }),
    outcomes(denied),
    reply([textBlock('Done.')], { spend }),
  ];
  expect(resultMessage(ended({ output: { a: 1 } }), entries, spent)).toMatchObject({
    subtype: 'success',
    is_error: false,
    result: 'Done.',
    structured_output: { a: 1 },
    num_turns: 2,
    duration_ms: 7,
    total_cost_usd: 0.5,
    stop_reason: 'end_turn',
    terminal_reason: 'completed',
    // The two replies of the run, without what agents and the small model used.
    usage: { input_tokens: 2, output_tokens: 4, cache_read_input_tokens: 6, cache_creation_input_tokens: 8 },
    modelUsage: {
      'claude-test': {
        inputTokens: 2,
        outputTokens: 4,
        cacheReadInputTokens: 6,
        cacheCreationInputTokens: 8,
        costUSD: 0.5,
      },
    },
    permission_denials: [{ tool_name: 'Read', tool_use_id: 'call-0', tool_input: { file_path: 'x' } }],
  });
});

test.each([
  ['max_turns', 'error_max_turns', 'max_turns'],
  ['budget_exceeded', 'error_max_budget_usd', 'budget_exhausted'],
  ['structured_output_failed', 'error_max_structured_output_retries', 'structured_output_retry_exhausted'],
  ['model_error', 'error_during_execution', 'model_error'],
  ['timeout', 'error_during_execution', 'timeout'],
] as const)(
  'a run that ended with %s is the error %s, with its detail, for the reason %s (Q7)',
  (reason, subtype, theirs) => {
    const result = resultMessage(ended({ reason, detail: 'why', costUsd: null }), [], new Map());
    expect(result).toMatchObject({
      subtype,
      is_error: true,
      terminal_reason: theirs,
      errors: [`${reason}: why`],
      total_cost_usd: 0,
      stop_reason: null,
    });
  },
);

test('what a model takes and gives at most stands beside what it has used, where the catalogue has it (Q7)', () => {
  const spend = { spend: { usage, usd: 0 }, searches: 0 };
  const spent = new Map(['claude-test', 'claude-haiku-4-5-20251001'].map((model) => [model, spend]));
  const { modelUsage } = resultMessage(ended(), [], spent);
  expect(modelUsage).toMatchObject({
    'claude-test': { contextWindow: 0, maxOutputTokens: 0 },
    'claude-haiku-4-5-20251001': { contextWindow: 200_000, maxOutputTokens: 64_000 },
  });
});
