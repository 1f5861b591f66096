// Builds the request of one iteration: the fixed parts of the run, the model's view of the
// transcript, and the cache breakpoints (L22). They stand after the system prompt and at the last
// two user messages, so that the next turn reads an unchanged prefix.
import type { MessageParam, ThinkingConfigParam, UserMessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { CallModel } from '../../workflows/contract/activities.ts';
import { type Effort, efforts } from '../../workflows/contract/loop.ts';
import type { RunConfig, RunModel } from '../../store/configuration.ts';
import type { ModelFacts, Models } from '../../store/model-facts.ts';
import { joinSystemPrompt, type Preamble, type Telling } from '../../store/transcript/preamble.ts';
import { withoutServerTools } from '../../store/transcript/server-tools.ts';
import { wellFormedText } from '../../system/text.ts';
import type { ModelRequest } from '../model-deps.ts';
import { changesTools, hasSummarisedChanges } from '../../store/transcript/system-message.ts';

const ephemeral = { type: 'ephemeral' } as const;

/** The parts of a request that differ from one iteration to the next. */
type RequestParts = Pick<CallModel, 'cap' | 'taskRemaining'> & {
  readonly preamble: Preamble;
  readonly messages: readonly MessageParam[];
  /** More of the system prompt, after the part that the cache keeps. */
  readonly system?: readonly string[];
  /** Whether the server has not refused the binding of thinking to what stands before it. */
  readonly canBind: boolean;
};

export function buildRequest(
  config: RunConfig,
  { model, primary }: ChosenModel,
  { preamble, messages, system = [], cap, taskRemaining, canBind }: RequestParts,
): ModelRequest {
  const wanted = thinkingFor(model, config.thinkingTokens, { cap, primary });
  const thinking = model.checksPrefix && canBind ? dropUnboundThinking(wanted) : wanted;
  // The API kept counting through its own summaries (L11).
  const remaining = beginsWithSummary(messages) ? undefined : taskRemaining;
  const offered = withoutServerTools(preamble.tools, model);
  const output = { ...effortFor(model, config.effort), ...taskBudget(config.rules.taskBudget, remaining) };
  return {
    model: model.name,
    max_tokens: cap,
    stream: true,
    ...(thinking ? { thinking } : {}),
    ...(Object.keys(output).length > 0 ? { output_config: output } : {}),
    system: [
      { type: 'text', text: joinSystemPrompt(preamble.system), cache_control: ephemeral },
      ...system.map((text) => ({ type: 'text' as const, text: wellFormedText(text) })),
    ],
    ...(offered.length > 0 ? { tools: [...offered] } : {}),
    messages: withBreakpoints(messages),
  };
}

/** Tells whether the first message begins with a summary block of the API. */
export function beginsWithSummary([first]: readonly MessageParam[]): boolean {
  return Array.isArray(first?.content) && (first.content[0]?.type as string | undefined) === 'compaction';
}

/**
 * Asks the API to drop thinking that no longer fits the messages before it, because it would
 * otherwise refuse this request and every later one. We never send such thinking, so a dropped
 * block means a defect of ours.
 */
function dropUnboundThinking(thinking: ThinkingConfigParam = { type: 'adaptive' }): ModelRequest['thinking'] {
  if (thinking.type !== 'adaptive' && thinking.type !== 'enabled') return thinking;
  return { ...thinking, block_binding: { prefix_mismatch_behavior: 'drop_block' } };
}

/** Sends `remaining` from the first compaction on (L11); until then the API counts by itself. */
function taskBudget(total: number | null, remaining: number | undefined): ModelRequest['output_config'] {
  if (total === null) return {};
  return { task_budget: { type: 'tokens', total, ...(remaining === undefined ? {} : { remaining }) } };
}

function withBreakpoints(messages: readonly MessageParam[]): MessageParam[] {
  const marked = [...messages];
  let left = 2;
  for (let at = messages.length - 1; at >= 0 && left > 0; at -= 1) {
    const message = messages[at];
    if (message?.role !== 'user') continue;
    marked[at] = withBreakpoint(message);
    left -= 1;
  }
  return marked;
}

function withBreakpoint(message: UserMessageParam): UserMessageParam {
  const { content } = message;
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const last = blocks.at(-1);
  if (last?.type !== 'text' && last?.type !== 'tool_result') return message;
  return { ...message, content: [...blocks.slice(0, -1), { ...last, cache_control: ephemeral }] };
}

/** The smallest thinking budget that the API takes, in tokens. */
const LEAST_THINKING = 1_024;

type ThinkingBounds = { readonly cap: number; readonly primary: boolean };

/**
 * Returns the thinking of a request whose max_tokens is `cap`, as far as the model's abilities are
 * known (L59, X2); undefined to leave it out. A model that decides by itself how much to think
 * shows summaries, so that people see the work between calls. A budget of tokens counts as output
 * and leaves room for the answer. Such a model gets none where another model signed the thinking
 * so far, as after a fallback.
 */
export function thinkingFor(
  { thinking }: Pick<ModelFacts, 'thinking'>,
  tokens: number | null,
  { cap, primary }: ThinkingBounds,
): ThinkingConfigParam | undefined {
  const { kinds, byDefault } = thinking ?? NOT_KNOWN;
  if (kinds.includes('adaptive'))
    return byDefault || tokens !== null ? { type: 'adaptive', display: 'summarized' } : undefined;
  if (tokens === null || !primary || !kinds.includes('enabled')) return undefined;
  const budget = Math.min(tokens, cap - 1);
  return budget < LEAST_THINKING ? undefined : { type: 'enabled', budget_tokens: budget };
}

/** Servers of other makers take a budget, if they take anything. */
const NOT_KNOWN: NonNullable<ModelFacts['thinking']> = { kinds: ['enabled'], byDefault: false };

/**
 * Returns the nearest lower level that the model has, since a fallback may lack the wanted one.
 * Models that are not known get any level.
 */
export function effortFor({ effort, thinking }: Pick<ModelFacts, 'effort' | 'thinking'>, wanted: Effort | undefined) {
  if (wanted === undefined || (!effort && thinking)) return {};
  const near = effort ? effort.levels.filter((level) => rankOfEffort(level) <= rankOfEffort(wanted)).at(-1) : wanted;
  return near === undefined ? {} : { effort: near };
}

/**
 * Minimises thinking for a short side question: off if possible, else at its lowest with `room` for
 * it, in tokens.
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

/**
 * Adds the facts of today: a run that an earlier release opened knows only the sizes and prices of
 * its models.
 */
export function withFacts(model: RunModel, models: Pick<Models, 'facts'>): RunModel {
  return model.thinking ? model : { ...models.facts(model.name), ...model };
}

/**
 * Tells whether sent messages must stay as they were, either for this model or for the run's own,
 * which may continue after a fallback with its earlier thinking.
 */
export function keepsPast(
  { models }: Pick<RunConfig, 'models'>,
  chosen: RunModel,
  known: Pick<Models, 'facts'>,
): Pick<ModelFacts, 'checksPrefix'> {
  return { checksPrefix: [models[0], chosen].some((model) => withFacts(model, known).checksPrefix === true) };
}

/** The names under which a server's refusals are remembered. */
export const REFUSABLE = {
  binding: 'block_binding',
  summaries: 'compaction',
  systemMessages: 'system_messages',
  inlineTools: 'inline_tools',
} as const;

/** Returns the model with the abilities that its server has shown. */
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

/** The model that one call asks, and its successor in the run's list (L19). */
export type ChosenModel = {
  readonly model: RunModel;
  /** False after a fallback. */
  readonly primary: boolean;
  /** The name of the next model in the list; null at its end. */
  readonly next: string | null;
};

/** `position` is 0 or absent for the primary. `window` is the window that the server named. */
export function chooseModel({ models }: RunConfig, position = 0, window?: number): ChosenModel {
  const found = models[position];
  if (!found) throw new Error(`the run has ${models.length} models, and number ${position} (from 0) was asked for`);
  const model = window === undefined ? found : { ...found, window };
  return { model, primary: position === 0, next: models[position + 1]?.name ?? null };
}

/** Chooses a model with the facts of today. */
export function chooseWithFacts(
  known: Pick<Models, 'facts'>,
  config: RunConfig,
  position?: number,
  window?: number,
): ChosenModel {
  const chosen = chooseModel(config, position, window);
  return { ...chosen, model: withFacts(chosen.model, known) };
}

/** Names the beta that `task_budget` belongs to. */
const TASK_BUDGETS_BETA = 'task-budgets-2026-03-13';
/** Names the beta that `block_binding` belongs to. */
export const THINKING_BINDING_BETA = 'thinking-binding-controls-2026-08-01';
/** Names the beta of summaries that the API makes, and of their blocks. */
export const COMPACTION_BETA = 'compact-2026-09-04';
/** Names the beta of tools that messages bring. */
export const INLINE_TOOLS_BETA = 'inline-tools-2026-09-15';

/**
 * Lists the beta features of the API that a request uses. A header names each to the server, which
 * may refuse any of them.
 */
export function betasOf(body: ModelRequest): readonly string[] {
  return [
    ...(body.output_config?.task_budget ? [TASK_BUDGETS_BETA] : []),
    ...(body.thinking?.block_binding ? [THINKING_BINDING_BETA] : []),
    ...(body.compaction || beginsWithSummary(body.messages) ? [COMPACTION_BETA] : []),
    ...(changesTools(body.messages) || hasSummarisedChanges(body.messages) ? [INLINE_TOOLS_BETA] : []),
  ];
}
