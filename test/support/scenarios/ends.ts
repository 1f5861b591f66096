// Fallbacks, hooks, budgets and structured output.
import { fault, reply, type Reply } from '../../../worker/scripted-model/index.ts';
import { dear, read, write, type Scenario } from './scenario.ts';

const said = (tokens: number): Reply => reply('A part of it.', { usage: { output_tokens: tokens } });
const named = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] };

export const endScenarios: readonly Scenario[] = [
  {
    name: 'L19 model_fallback at once when the model is not found',
    replies: [fault({ status: 404 }), read(1), reply('Done.')],
    options: { fallbackModels: ['claude-b'] },
    transitions: ['model_fallback', 'next_turn'],
    reason: 'completed',
    turns: 2,
    requests: 3,
  },
  {
    name: 'L19 model_fallback at the third overload',
    replies: [fault({ status: 529 }, '', { times: 3 }), reply('Done.')],
    options: { fallbackModels: ['claude-b'] },
    transitions: ['model_fallback'],
    reason: 'completed',
    turns: 1,
    requests: 4,
  },
  {
    name: 'L30 stop_hook_blocking until the hook is content',
    replies: [reply('Done.'), write(1), reply('Now it is done.')],
    config: { hooks: { stop: [{ command: 'test -s effects.log || { echo "no effect yet" >&2; exit 2; }' }] } },
    transitions: ['stop_hook_blocking', 'next_turn'],
    reason: 'completed',
    turns: 2,
    requests: 3,
  },
  {
    name: 'L30 stop_hook_prevented',
    replies: [read(1), reply('Done.')],
    config: { hooks: { stop: [{ command: `echo '{"prevent":"not today"}'` }] } },
    transitions: ['next_turn'],
    reason: 'stop_hook_prevented',
    turns: 2,
    requests: 2,
  },
  {
    name: 'L31 token_budget_continuation until nine tenths are spent',
    replies: [said(300), said(300), said(400)],
    options: { tokenBudget: 1_000 },
    transitions: ['token_budget_continuation', 'token_budget_continuation'],
    reason: 'completed',
    turns: 1,
    requests: 3,
  },
  {
    name: 'L41 hook_stopped after the result of a call',
    replies: [read(1), reply('Never asked.')],
    config: { hooks: { postTool: [{ command: `echo '{"stop":"seen enough"}'` }] } },
    transitions: [],
    reason: 'hook_stopped',
    turns: 1,
    requests: 1,
  },
  {
    name: 'L53 structured_output_retry',
    replies: [reply('It is Ada.'), reply('{"name":"Ada"}')],
    options: { outputSchema: named },
    transitions: ['structured_output_retry'],
    reason: 'completed',
    turns: 1,
    requests: 2,
  },
  {
    name: 'L53 structured_output_failed after five retries',
    replies: [reply('It is Ada.', { times: 6 })],
    options: { outputSchema: named },
    transitions: Array.from({ length: 5 }, () => 'structured_output_retry' as const),
    reason: 'structured_output_failed',
    turns: 1,
    requests: 6,
  },
  {
    name: 'L51 budget_exceeded by a limit of tokens',
    replies: [{ ...read(1), ...dear }, reply('Never asked.')],
    options: { maxTokens: 1_000 },
    config: { compaction: { enabled: false } },
    transitions: [],
    reason: 'budget_exceeded',
    turns: 1,
    requests: 1,
  },
];
