// The request of one iteration: what is fixed for the run, what the model sees of the transcript,
// and where the prompt cache may break (L22): after the system prompt, and at the last two user
// messages, so that an unchanged prefix is read on the next turn.
import type { MessageParam, UserMessageParam, ThinkingConfigParam } from '@anthropic-ai/sdk/resources/messages';
import type { CallModel } from '../../workflows/contract/activities.ts';
import type { Effort } from '../../workflows/contract/loop.ts';
import { efforts } from '../../workflows/contract/options-problem.ts';
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import type { ModelFacts, Models } from '../../store/model-facts.ts';
import { type Preamble, systemText, type Telling } from '../../store/transcript/preamble.ts';
import { withoutServerTools } from '../../store/transcript/server-tools.ts';
import type { ModelRequest } from '../deps.ts';

const ephemeral = { type: 'ephemeral' } as const;

export function buildRequest(
  config: RunConfig,
  { model, primary }: ChosenModel,
  { system, tools }: Preamble,
  messages: readonly MessageParam[],
  { cap, taskRemaining }: Pick<CallModel, 'cap' | 'taskRemaining'>,
  server: ServerKnows = {},
): ModelRequest {
  const asked = thinkingFor(model, config.thinkingTokens, { cap, primary });
  const thinking = model.checksPrefix && server.binding !== false ? bound(asked) : asked;
  // The API has counted on through the summaries of its own (L11).
  const remaining = beginsWithSummary(messages) ? undefined : taskRemaining;
  const offered = withoutServerTools(tools, model);
  const output = { ...effortFor(model, config.effort), ...taskBudget(config.rules.taskBudget, remaining) };
  return {
    model: model.name,
    max_tokens: cap,
    stream: true,
    ...(thinking ? { thinking } : {}),
    ...(Object.keys(output).length > 0 ? { output_config: output } : {}),
    system: [{ type: 'text', text: systemText(system), cache_control: ephemeral }],
    ...(offered.length > 0 ? { tools: [...offered] } : {}),
    messages: withBreakpoints(messages),
  };
}

/** With a block of the API's own making. */
export function beginsWithSummary([first]: readonly MessageParam[]): boolean {
  return Array.isArray(first?.content) && (first.content[0]?.type as string | undefined) === 'compaction';
}

/** What the server has refused to know. */
export type ServerKnows = { readonly binding?: boolean };

/**
 * Thinking that no longer fits what stands before it is to be left out: the API would refuse the
 * request, and every later one. We send it nothing of the kind: what it says it has left out is a
 * defect of ours.
 */
function bound(asked: ThinkingConfigParam = { type: 'adaptive' }): ModelRequest['thinking'] {
  if (asked.type !== 'adaptive' && asked.type !== 'enabled') return asked;
  return { ...asked, block_binding: { prefix_mismatch_behavior: 'drop_block' } };
}

/** `remaining` is said from the first compaction on (L11): until then the API counts by itself. */
function taskBudget(total: number | null, remaining: number | undefined): ModelRequest['output_config'] {
  if (total === null) return {};
  return { task_budget: { type: 'tokens', total, ...(remaining === undefined ? {} : { remaining }) } };
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

// How a run's wishes are said to a model, as far as it is known what it takes (L59, X2).

/** Tokens; the API refuses less. */
const LEAST_THINKING = 1_024;

type Asking = { readonly cap: number; readonly primary: boolean };

/**
 * `cap`: max_tokens of the request. A model that decides by itself how much to think says in short
 * what it thinks, so that people see what goes on between calls. A budget of tokens counts as
 * output and leaves room for the answer; where thinking is not signed by the model that is to go
 * on, as after a fallback, such a model takes none. Undefined: nothing is said of it.
 */
export function thinkingFor(
  { thinking }: Pick<ModelFacts, 'thinking'>,
  tokens: number | null,
  { cap, primary }: Asking,
): ThinkingConfigParam | undefined {
  const { kinds, byDefault } = thinking ?? NOT_KNOWN;
  if (kinds.includes('adaptive'))
    return byDefault || tokens !== null ? { type: 'adaptive', display: 'summarized' } : undefined;
  if (tokens === null || !primary || !kinds.includes('enabled')) return undefined;
  const budget = Math.min(tokens, cap - 1);
  return budget < LEAST_THINKING ? undefined : { type: 'enabled', budget_tokens: budget };
}

/** Servers of others take a budget, if anything. */
const NOT_KNOWN: NonNullable<ModelFacts['thinking']> = { kinds: ['enabled'], byDefault: false };

/**
 * The nearest level below where a model, as a fallback may, has not the one that is wanted. Of
 * models that are not known all may be asked.
 */
export function effortFor({ effort, thinking }: Pick<ModelFacts, 'effort' | 'thinking'>, wanted: Effort | undefined) {
  if (wanted === undefined || (!effort && thinking)) return {};
  const near = effort ? effort.levels.filter((level) => rankOfEffort(level) <= rankOfEffort(wanted)).at(-1) : wanted;
  return near === undefined ? {} : { effort: near };
}

/**
 * For a short question beside the conversation: thinking is off where it can be, else as little as
 * it can be, and `room` is left for it, in tokens.
 */
export function leastThinking({ thinking, effort }: Pick<ModelFacts, 'thinking' | 'effort'>): {
  readonly fields: Pick<ModelRequest, 'thinking' | 'output_config'>;
  readonly room: number;
} {
  if (!thinking?.byDefault) return { fields: {}, room: 0 };
  const off = (['disabled', 'between_tools'] as const).find((kind) => thinking.kinds.includes(kind));
  if (off) return { fields: { thinking: { type: off } }, room: 0 };
  const [least] = effort?.levels ?? [];
  return { fields: least ? { output_config: { effort: least } } : {}, room: THINKING_ROOM };
}

const THINKING_ROOM = 8_000;

const rankOfEffort = (effort: Effort): number => efforts.indexOf(effort);

/** A run that an earlier release opened knows no more of its models than their sizes and prices. */
export function withFacts(model: RunModel, models: Pick<Models, 'facts'>): RunModel {
  return model.thinking ? model : { ...models.facts(model.name), ...model };
}

/**
 * Whether what was sent must stay as it was: for the model that is asked, and for the run's own,
 * which may go on after a fallback with what it had thought before.
 */
export function keepsPast(
  { models }: Pick<RunConfig, 'models'>,
  asked: RunModel,
  known: Pick<Models, 'facts'>,
): Pick<ModelFacts, 'checksPrefix'> {
  return { checksPrefix: [models[0], asked].some((model) => withFacts(model, known).checksPrefix === true) };
}

/** The names under which a server's refusals are remembered. */
export const REFUSABLE = {
  binding: 'block_binding',
  summaries: 'compaction',
  systemMessages: 'system_messages',
  inlineTools: 'inline_tools',
} as const;

/** A model as its server has shown itself. */
export function asServed(model: RunModel, models: Pick<Models, 'isRefused'>): RunModel & { readonly telling: Telling } {
  const has = (field: string): boolean => !models.isRefused(model.name, field);
  const bySystem = model.systemMessages === true && has(REFUSABLE.systemMessages);
  const bringsTools = bySystem && model.toolChanges === 'inline' && has(REFUSABLE.inlineTools);
  const { toolChanges: _changes, ...rest } = model;
  return {
    ...rest,
    systemMessages: bySystem,
    ...(bringsTools && { toolChanges: 'inline' as const }),
    telling: { ...(bySystem && { bySystem }), ...(bringsTools && { bringsTools }) },
  };
}

// The model that one call asks, by its position in the run's list, and the one after it (L19).

export type ChosenModel = {
  readonly model: RunModel;
  /** False after a fallback. */
  readonly primary: boolean;
  /** Null: there is none. */
  readonly next: string | null;
};

/**
 * `position`: 0 or absent for the primary. `window`: what the server has said that its window is.
 */
export function chooseModel({ models }: RunConfig, position = 0, window?: number): ChosenModel {
  const found = models[position];
  if (!found) throw new Error(`the run has ${models.length} models, and number ${position} (from 0) was asked for`);
  const model = window === undefined ? found : { ...found, window };
  return { model, primary: position === 0, next: models[position + 1]?.name ?? null };
}
