// What a request says before its messages, and how the model hears of a change of it: with the entries that are stored before the reply.
import type { Tool } from '@anthropic-ai/sdk/resources/messages';
import { systemPartsOf } from '../configuration.ts';
import { announce } from '../live/tell.ts';
import { isListed } from '../tools/listed.ts';
import { beginEpoch, type Preamble, tellPreamble, toolsIn } from '../transcript/preamble.ts';
import { entriesOf } from '../transcript/transcripts.ts';
import { asServed } from './request.ts';
import type { ModelStep } from './step.ts';

/** `preamble`: what its request says before the messages. `given`: the step without what is told in it. */
export type PreparedStep = ModelStep & { readonly preamble: Preamble; readonly given: ModelStep };

/** What has changed of the system prompt and the tools is told with the entries before the reply. */
export function withPreamble(step: ModelStep): PreparedStep {
  const prepared = prepareAgain(step);
  announce(step.live, prepared.base.added.slice(step.base.added.length));
  return prepared;
}

/** After its server has refused how it was told. */
export function prepareAgain(step: ModelStep): PreparedStep {
  const { base, deps, chosen } = step;
  const { telling } = asServed(chosen.model, deps.models);
  const entries = entriesOf(base);
  const { told, epoch } = tellPreamble(entries, wantedIn(step), telling);
  const preamble = { system: epoch.system, tools: toolsIn([...entries, ...told], telling) };
  return { ...step, base: { ...base, added: [...base.added, ...told] }, preamble, given: step };
}

/** In a new epoch, in which nothing is sent of what the model has thought before. */
export function withoutThinking(step: ModelStep): PreparedStep {
  const { base, deps, chosen } = step;
  const epoch = beginEpoch('refused', wantedIn(step), asServed(chosen.model, deps.models).telling);
  return { ...step, base: { ...base, added: [...base.added, epoch] }, preamble: epoch, given: step };
}

/** Tools as of now (L44), and only those that the run was opened with (L57) and that a tool has left allowed (L38). */
function wantedIn({ deps, input, config }: ModelStep): Preamble {
  const limits = [config.tools, input.context?.allowedTools].filter((names) => names !== undefined);
  const offered = deps.tools.definitions.filter(({ name }) => limits.every((names) => isListed(names, name)));
  return { system: systemPartsOf(config), tools: offered.map(asStored) };
}

/** As a transcript gives it back, so that the two can be compared. Definitions never change: each is made plain once. */
const stored = new WeakMap<Tool, Tool>();

function asStored(tool: Tool): Tool {
  const known = stored.get(tool) ?? (JSON.parse(JSON.stringify(tool)) as Tool);
  stored.set(tool, known);
  return known;
}
