// What a request says before its messages, and how the model hears of a change of it: with the
// entries that are stored before the reply.
import type { Message, Tool } from '@anthropic-ai/sdk/resources/messages';
import type { RunConfig } from '../../store/configuration.ts';
import { systemPartsOf } from '../../store/system-prompt.ts';
import { runFields } from '../../system/log.ts';
import { isListed } from '../../tools/listed.ts';
import type { Entry, EpochReason } from '../../store/log/entries.ts';
import { type AskedModel, beginEpoch, type Preamble, tellPreamble, toolsIn } from '../../store/transcript/preamble.ts';
import { WEB_SEARCH, webSearchTool } from '../../store/transcript/server-tools.ts';
import { renameTool, namesToSend } from '../../store/transcript/tool-names.ts';
import { entriesOf } from '../../store/transcript/transcripts.ts';
import { asServed, withFacts } from './request.ts';
import type { ModelStep } from './step.ts';

/** `preamble`: what its request says before the messages. */
export type PreparedStep = ModelStep & {
  readonly preamble: Preamble;
  /** The step without what is told in it. */
  readonly given: ModelStep;
  readonly told: readonly Entry[];
  /** Why it begins an epoch of its own accord, where the API has refused the one before. */
  readonly anew?: EpochReason;
  /** The reply goes on that the API has paused; null: it began anew, for the API refused that. */
  readonly paused?: PausedReply | null;
};

/** `times`: how often it was paused. */
export type PausedReply = { readonly message: Message; readonly times: number };

/**
 * What has changed of the system prompt and the tools is told with the entries before the reply.
 */
export function withPreamble(step: ModelStep): PreparedStep {
  const entries = entriesOf(step.base);
  const asked = askedModelOf(step);
  const { told, epoch } = tellPreamble(entries, wantedPreamble(step), asked);
  const preamble = { system: epoch.system, tools: toolsIn([...entries, ...told], asked.telling) };
  return { ...withTold(step, told), preamble };
}

/** In a new epoch, in which no model that checks is sent what was thought before. */
export function beginAnew({ given }: Pick<PreparedStep, 'given'>, why: EpochReason): PreparedStep {
  const epoch = beginEpoch(why, wantedPreamble(given), askedModelOf(given).begins);
  return { ...withTold(given, [epoch]), preamble: epoch, anew: why };
}

/** Null where it is left out already. For all models of the run, lest it come and go with them. */
export function leaveOut({ given, anew }: PreparedStep, tool: Tool, detail: string): PreparedStep | null {
  const { deps, config, input } = given;
  if (!deps.models.refuse(config.models[0].name, definitionOf(tool))) return null;
  const words = `the tool ${tool.name} is not offered, for the API does not take its definition: ${detail}`;
  deps.log('warn', words, { ...runFields(config), iteration: input.iteration });
  return anew ? beginAnew({ given }, anew) : withPreamble(given);
}

function withTold(given: ModelStep, told: readonly Entry[]): Omit<PreparedStep, 'preamble'> {
  const { base } = given;
  return { ...given, base: { ...base, added: [...base.added, ...told] }, given, told };
}

/**
 * An epoch tells of changes as the run's first model takes it: others are told less, and it goes on
 * after a fallback.
 */
function askedModelOf({ deps: { models }, config, chosen: { model } }: ModelStep): Required<AskedModel> {
  const [first] = config.models;
  return {
    telling: asServed(model, models).telling,
    begins: asServed(withFacts(first, models), models).telling,
    checksPrefix: model.checksPrefix === true,
    isRefused: (tool) => models.isRefused(first.name, definitionOf(tool)),
  };
}

/**
 * Tools as of now (L44), and only those that the run was opened with (L57), that a tool has left
 * allowed (L38), and whose definition the API takes.
 */
function wantedPreamble({ deps, input, config }: ModelStep): Preamble {
  const limits = [config.tools, input.context?.allowedTools].filter((names) => names !== undefined);
  const offered = deps.tools.definitions.filter(({ name }) => limits.every((names) => isListed(names, name)));
  const isRefused = (tool: Tool): boolean => deps.models.isRefused(config.models[0].name, definitionOf(tool));
  const search = searchIn(config, offered).filter(({ name }) => limits.every((names) => isListed(names, name)));
  const names = namesToSend(config.toolNames, deps.tools.definitions);
  const named = offered.map(asStored).map((tool) => (names ? renameTool(tool, names) : tool));
  const tools = [...named, ...search];
  const system = systemPartsOf(config);
  return { system, tools: tools.filter((tool) => !isRefused(tool)), ...(names && { names }) };
}

/** After the others; a tool of the worker's under its name goes before (L88). */
function searchIn({ webSearch, models }: RunConfig, offered: readonly { readonly name: string }[]): readonly Tool[] {
  const isTaken = offered.some(({ name }) => name === WEB_SEARCH);
  return webSearch && models[0].webSearch === true && !isTaken ? [webSearchTool(webSearch)] : [];
}

/**
 * As a transcript gives it back, so that the two can be compared. Definitions never change: each is
 * made plain once.
 */
const stored = new WeakMap<Tool, Tool>();

/**
 * The name under which a refusal of it is remembered: with another definition it is offered again.
 */
function definitionOf(tool: Tool): string {
  return `tool ${JSON.stringify(tool)}`;
}

function asStored(tool: Tool): Tool {
  const known = stored.get(tool) ?? (JSON.parse(JSON.stringify(tool)) as Tool);
  stored.set(tool, known);
  return known;
}
