// Without hooks, fallbacks and full windows: what the loop does by itself.
import { fault, reply, toolUse, type Reply } from '../../../worker/scripted-model/index.ts';
import { dear, read, write, type Scenario } from './scenario.ts';

const cut = (words: string, times = 1): Reply =>
  fault({ maxTokensAfter: { block: 0, chars: words.length } }, `${words} and more`, { times });
const missing = reply([toolUse('read', { path: 'missing.txt' })], { times: 5 });

export const plainScenarios: readonly Scenario[] = [
  {
    name: 'L32 an answer',
    replies: [reply('Hello.')],
    transitions: [],
    reason: 'completed',
    turns: 1,
    requests: 1,
  },
  {
    name: 'L46 next_turn after a safe call and after an effectful one',
    replies: [read(1), write(1), reply('Done.')],
    transitions: ['next_turn', 'next_turn'],
    reason: 'completed',
    turns: 3,
    requests: 3,
  },
  {
    name: 'L35 L39 a batch of safe and effectful calls, each with its outcome in the model order',
    replies: [
      reply([
        toolUse('read', { path: 'a.txt' }),
        toolUse('bash', { command: 'echo one >> effects.log' }),
        toolUse('glob', { pattern: '*.txt' }),
        toolUse('nonsense', {}),
      ]),
      reply('Done.'),
    ],
    transitions: ['next_turn'],
    reason: 'completed',
    turns: 2,
    requests: 2,
  },
  {
    name: 'L26 max_output_tokens_escalate',
    replies: [cut('Half of'), reply('The whole of it.')],
    transitions: ['max_output_tokens_escalate'],
    reason: 'completed',
    turns: 1,
    requests: 2,
  },
  {
    name: 'L27 max_output_tokens_recovery under a cap of the caller',
    replies: [cut('First, '), cut('second, '), reply('third.')],
    options: { maxOutputTokens: 100 },
    transitions: ['max_output_tokens_recovery', 'max_output_tokens_recovery'],
    reason: 'completed',
    turns: 1,
    requests: 3,
  },
  {
    name: 'L28 max_output_tokens after one escalation and three recoveries',
    replies: [cut('More, ', 5)],
    transitions: [
      'max_output_tokens_escalate',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
      'max_output_tokens_recovery',
    ],
    reason: 'max_output_tokens',
    turns: 1,
    requests: 5,
  },
  {
    name: 'L45 max_turns',
    replies: [read(1), read(2), read(3)],
    options: { maxTurns: 2 },
    transitions: ['next_turn'],
    reason: 'max_turns',
    turns: 2,
    requests: 2,
  },
  {
    name: 'L20 model_error of an authentication failure',
    replies: [read(1), fault({ status: 401 })],
    transitions: ['next_turn'],
    reason: 'model_error',
    turns: 2,
    requests: 2,
  },
  {
    name: 'L14 L29 model_error when ten retries did not help',
    replies: [fault({ status: 529 }, '', { times: 11 })],
    transitions: [],
    reason: 'model_error',
    turns: 1,
    requests: 11,
  },
  {
    name: 'L15 model_error of a refusal',
    replies: [reply('I will not.', { stop_reason: 'refusal' })],
    transitions: [],
    reason: 'model_error',
    turns: 1,
    requests: 1,
  },
  {
    name: 'L25 prompt_too_long',
    replies: [read(1), fault({ too_long: true })],
    transitions: ['next_turn'],
    reason: 'prompt_too_long',
    turns: 2,
    requests: 2,
  },
  {
    name: 'L25 image_error',
    replies: [fault({ media_too_large: true })],
    transitions: [],
    reason: 'image_error',
    turns: 1,
    requests: 1,
  },
  {
    name: 'L34 fatal_tool_error when the same call fails five times in a row',
    replies: [missing],
    transitions: ['next_turn', 'next_turn', 'next_turn', 'next_turn'],
    reason: 'fatal_tool_error',
    turns: 5,
    requests: 5,
  },
  {
    name: 'L51 budget_exceeded, over by no more than one call',
    replies: [{ ...write(1), ...dear }, reply('Never asked.')],
    options: { maxBudgetUsd: 1 },
    transitions: [],
    reason: 'budget_exceeded',
    turns: 1,
    requests: 1,
  },
];
