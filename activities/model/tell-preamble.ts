// Decides what a request says before its messages, and tells the model of changes through the
// entries that are stored before the reply.
import type { Message, Tool } from '@anthropic-ai/sdk/resources/messages';
import type { RunConfig } from '../../store/configuration.ts';
import { systemPartsOf } from '../../store/system-prompt.ts';
import { runFields } from '../../system/log.ts';
import type { Entries } from '../../store/view/shared-view.ts';
import { chooseTools } from '../../tools/deferred-tools.ts';
import { isListed } from '../../tools/listed.ts';
import type { Entry, EpochEntry, EpochReason } from '../../store/log/entries.ts';
import {
  type AskedModel,
  beginEpoch,
  currentEpoch,
  type Preamble,
  tellPreamble,
  toldTools,
  toolsIn,
} from '../../store/transcript/preamble.ts';
import { WEB_SEARCH, webSearchTool } from '../../store/transcript/server-tools.ts';
import { foundTools } from '../../store/transcript/found-tools.ts';
import { inSentNames, ownName, renameTool, namesToSend } from '../../store/transcript/tool-names.ts';
import { asServed, withFacts } from './request.ts';
import type { ModelStep } from './step.ts';

/** `preamble` is the part of the request before its messages. */
export type PreparedStep = ModelStep & {
  readonly preamble: Preamble;
  /** The same step without the entries that announce changes. */
  readonly original: ModelStep;
  readonly announcements: readonly Entry[];
  /** The reason to begin a new epoch when the API refused the current one. */
  readonly anew?: EpochReason;
  /** The paused reply that this request continues; null after the API refused to continue it. */
  readonly paused?: PausedReply | null;
};

/** `times` counts its pauses. */
export type PausedReply = { readonly message: Message; readonly times: number };

/** Adds entries that tell the model what changed in the system prompt and the tools. */
export function withPreamble(step: ModelStep): PreparedStep {
  const askedModel = toAskedModel(step);
  const { told: announcements, epoch } = tellPreamble(step.base, buildPreamble(step, step.base), askedModel);
  const withAll = withAnnouncements(step, announcements);
  const preamble = { system: epoch.system, tools: toolsIn(withAll.base, askedModel.telling) };
  return { ...withAll, preamble };
}

/** The parts of a request before its messages. */
type PreambleStep = Pick<ModelStep, 'config' | 'chosen'> & {
  readonly deps: Pick<ModelStep['deps'], 'tools' | 'models'>;
  readonly input: Pick<ModelStep['input'], 'context'>;
};

/** Returns the epoch that the next request begins, where none goes on: after a summary of ours. */
export function nextEpoch(entries: Entries, step: PreambleStep): EpochEntry | null {
  if (currentEpoch(entries)) return null;
  return tellPreamble(entries, buildPreamble(step, entries), toAskedModel(step)).epoch;
}

/** Begins a new epoch, which sends no earlier thinking to a model that checks it. */
export function beginAnew({ original }: Pick<PreparedStep, 'original'>, why: EpochReason): PreparedStep {
  const epoch = beginEpoch(why, buildPreamble(original, original.base), toAskedModel(original).begins);
  return { ...withAnnouncements(original, [epoch]), preamble: epoch, anew: why };
}

/**
 * Leaves a tool out for all models of the run, so that it does not come and go with them. Null when
 * it is left out already.
 */
export function leaveOut({ original, anew }: PreparedStep, tool: Tool, detail: string): PreparedStep | null {
  const { deps, config, input } = original;
  if (!deps.models.refuse(config.models[0].name, definitionOf(tool))) return null;
  const words = `the tool ${tool.name} is not offered, for the API does not take its definition: ${detail}`;
  deps.log('warn', words, { ...runFields(config), iteration: input.iteration });
  return anew ? beginAnew({ original }, anew) : withPreamble(original);
}

function withAnnouncements(original: ModelStep, announcements: readonly Entry[]): Omit<PreparedStep, 'preamble'> {
  const { base } = original;
  return { ...original, base: { ...base, added: [...base.added, ...announcements] }, original, announcements };
}

/**
 * An epoch announces changes in the form that the run's first model takes. Other models hear less,
 * and the epoch survives a fallback.
 */
function toAskedModel({ deps: { models }, config, chosen: { model } }: PreambleStep): Required<AskedModel> {
  const [first] = config.models;
  return {
    telling: asServed(model, models).telling,
    begins: asServed(withFacts(first, models), models).telling,
    checksPrefix: model.checksPrefix === true,
    isRefused: (tool) => models.isRefused(first.name, definitionOf(tool)),
  };
}

/**
 * Lists the current tools (L44), limited to those that the run was opened with (L57), that a tool
 * has left allowed (L38), and whose definitions the API takes. Of many, those that the model has
 * had or found (L74).
 */
function buildPreamble({ deps, input, config }: PreambleStep, entries: Entries): Preamble {
  const limits = [config.tools, input.context?.allowedTools].filter((names) => names !== undefined);
  const all = deps.tools.definitionsOf(config);
  const listed = all.filter(({ name }) => limits.every((names) => isListed(names, name)));
  const { tools: offered, parts } = chooseTools(listed, config.deferAbove, () => listSentTools(config, entries));
  const isRefused = (tool: Tool): boolean => deps.models.isRefused(config.models[0].name, definitionOf(tool));
  const search = searchIn(config, offered).filter(({ name }) => limits.every((names) => isListed(names, name)));
  const names = namesToSend(config.toolNames, all);
  const named = offered.map(asStored).map((tool) => (names ? renameTool(tool, names) : tool));
  const tools = [...named, ...search];
  const deferredParts = parts.map((part) => ({ ...part, text: inSentNames(part.text, names) }));
  const system = [...systemPartsOf(config), ...deferredParts];
  return { system, tools: tools.filter((tool) => !isRefused(tool)), ...(names && { names }) };
}

/** Names the tools that the model was sent in this epoch, and those that it has found. */
function listSentTools({ toolNames = {} }: RunConfig, entries: Entries): ReadonlySet<string> {
  const sent = [...toldTools(entries)].map((name) => ownName(toolNames, name));
  return new Set([...sent, ...foundTools(entries)]);
}

/** Appends the search of the API, unless a tool of the worker has its name (L88). */
function searchIn({ webSearch, models }: RunConfig, offered: readonly { readonly name: string }[]): readonly Tool[] {
  const isTaken = offered.some(({ name }) => name === WEB_SEARCH);
  return webSearch && models[0].webSearch === true && !isTaken ? [webSearchTool(webSearch)] : [];
}

/** Definitions never change, so each is converted once. */
const storedForms = new WeakMap<Tool, Tool>();

const definitions = new WeakMap<Tool, string>();

/**
 * The name under which the refusal of a definition is remembered. The tool is offered again with
 * another one.
 */
function definitionOf(tool: Tool): string {
  const known = definitions.get(tool) ?? `tool ${JSON.stringify(tool)}`;
  definitions.set(tool, known);
  return known;
}

/** Returns a definition in the form that a transcript gives back, so that the two compare equal. */
function asStored(tool: Tool): Tool {
  const known = storedForms.get(tool) ?? (JSON.parse(JSON.stringify(tool)) as Tool);
  storedForms.set(tool, known);
  return known;
}
