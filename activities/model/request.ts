// The request of one iteration: what is fixed for the run, what the model sees of the transcript, and where the prompt cache may
// break (L22): after the system prompt, and at the last two user messages, so that an unchanged prefix is read on the next turn.
import type {
  MessageCreateParamsStreaming,
  MessageParam,
  OutputConfig,
  Tool,
  UserMessageParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { BetaTokenTaskBudget } from '@anthropic-ai/sdk/resources/beta/messages';
import type { CallModel } from '../../workflows/contract/activities.ts';
import type { RunConfig } from '../run-config.ts';
import type { ChosenModel } from './chosen-model.ts';
import { thinkingFor } from './thinking.ts';

/** Names the beta that `task_budget` belongs to. */
export const TASK_BUDGETS_BETA = 'task-budgets-2026-03-13';

/** The stable request, and the one field of a beta that we use. */
export type ModelRequest = Omit<MessageCreateParamsStreaming, 'output_config'> & {
  output_config?: OutputConfig & { task_budget?: BetaTokenTaskBudget };
};

const ephemeral = { type: 'ephemeral' } as const;

export function buildRequest(
  config: RunConfig,
  { model, primary }: ChosenModel,
  tools: readonly Tool[],
  messages: readonly MessageParam[],
  { cap, taskRemaining }: Pick<CallModel, 'cap' | 'taskRemaining'>,
): ModelRequest {
  const thinking = primary ? thinkingFor(model.name, config.thinkingTokens, cap) : undefined;
  const budget = taskBudget(config.rules.taskBudget, taskRemaining);
  return {
    model: model.name,
    max_tokens: cap,
    stream: true,
    ...(thinking ? { thinking } : {}),
    ...(budget ? { output_config: { task_budget: budget } } : {}),
    system: [{ type: 'text', text: config.system, cache_control: ephemeral }],
    ...(tools.length > 0 ? { tools: [...tools] } : {}),
    messages: withBreakpoints(messages),
  };
}

/** `remaining` is said from the first compaction on (L11): until then the API counts by itself. */
function taskBudget(total: number | null, remaining: number | undefined): BetaTokenTaskBudget | undefined {
  if (total === null) return undefined;
  return { type: 'tokens', total, ...(remaining === undefined ? {} : { remaining }) };
}

function withBreakpoints(messages: readonly MessageParam[]): MessageParam[] {
  const users = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : []));
  const marked = new Set(users.slice(-2));
  return messages.map((message, at) => (marked.has(at) && message.role === 'user' ? withBreakpoint(message) : message));
}

function withBreakpoint(message: UserMessageParam): UserMessageParam {
  const { content } = message;
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const last = blocks.at(-1);
  if (last?.type !== 'text' && last?.type !== 'tool_result') return message;
  return { ...message, content: [...blocks.slice(0, -1), { ...last, cache_control: ephemeral }] };
}
