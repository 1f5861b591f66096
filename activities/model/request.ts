// The request of one iteration: what is fixed for the run, what the model sees of the transcript, and where the prompt cache may
// break (L22): after the system prompt, and at the last two user messages, so that an unchanged prefix is read on the next turn.
import type { MessageParam, UserMessageParam, ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages';
import type { BetaTokenTaskBudget } from '@anthropic-ai/sdk/resources/beta/messages';
import type { CallModel } from '../../workflows/contract/activities.ts';
import type { RunConfig, RunModel } from '../configuration.ts';
import { type Preamble, systemText } from '../transcript/preamble.ts';
import type { ModelRequest } from '../deps.ts';

/** Names the beta that `task_budget` belongs to. */
export const TASK_BUDGETS_BETA = 'task-budgets-2026-03-13';
/** Names the beta that `block_binding` belongs to. */
export const THINKING_BINDING_BETA = 'thinking-binding-controls-2026-08-01';

const ephemeral = { type: 'ephemeral' } as const;

export function buildRequest(
  config: RunConfig,
  { model, primary }: ChosenModel,
  { system, tools }: Preamble,
  messages: readonly MessageParam[],
  { cap, taskRemaining }: Pick<CallModel, 'cap' | 'taskRemaining'>,
  server: ServerKnows = {},
): ModelRequest {
  const asked = primary ? thinkingFor(model.name, config.thinkingTokens, cap) : undefined;
  const thinking = model.checksPrefix && server.binding !== false ? bound(asked) : asked;
  const budget = taskBudget(config.rules.taskBudget, taskRemaining);
  return {
    model: model.name,
    max_tokens: cap,
    stream: true,
    ...(thinking ? { thinking } : {}),
    ...(budget ? { output_config: { task_budget: budget } } : {}),
    system: [{ type: 'text', text: systemText(system), cache_control: ephemeral }],
    ...(tools.length > 0 ? { tools: [...tools] } : {}),
    messages: withBreakpoints(messages),
  };
}

/** What the server has refused to know. */
export type ServerKnows = { readonly binding?: boolean };

/**
 * Thinking that no longer fits what stands before it is to be left out: the API would refuse the request, and every later one. We send it
 * nothing of the kind: what it says it has left out is a defect of ours.
 */
function bound(asked: ThinkingConfigParam = { type: 'adaptive' }): ModelRequest['thinking'] {
  if (asked.type !== 'adaptive' && asked.type !== 'enabled') return asked;
  return { ...asked, block_binding: { prefix_mismatch_behavior: 'drop_block' } };
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

// How a run's wish for extended thinking is said to a model (L59). Thinking counts as output, so it must leave room for the answer.

/** Tokens; the API refuses less. */
const LEAST_THINKING = 1_024;

/** These models decide by themselves how much to think: a budget of tokens is a 400 for them, and 4.6 warns of one. */
const ADAPTIVE = /(?:^|[./])claude-(?:(?:fable|mythos)-|[a-z]+-(?:4-[6-9]|[5-9]|\d\d)(?!\d))/;

/** `cap`: max_tokens of the request. Undefined: not asked for, or no room for it. */
export function thinkingFor(model: string, tokens: number | null, cap: number): ThinkingConfigParam | undefined {
  if (tokens === null) return undefined;
  if (ADAPTIVE.test(model)) return { type: 'adaptive' };
  const budget = Math.min(tokens, cap - 1);
  return budget < LEAST_THINKING ? undefined : { type: 'enabled', budget_tokens: budget };
}

// The model that one call asks, by its position in the run's list, and the one after it (L19).

export type ChosenModel = {
  readonly model: RunModel;
  /** False after a fallback: thinking is off then (L59). */
  readonly primary: boolean;
  /** Null: there is none. */
  readonly next: string | null;
};

/** `position`: 0 or absent for the primary. */
export function chosenModel({ models }: RunConfig, position = 0): ChosenModel {
  const model = models[position];
  if (!model) throw new Error(`the run has ${models.length} models, and number ${position} (from 0) was asked for`);
  return { model, primary: position === 0, next: models[position + 1]?.name ?? null };
}
