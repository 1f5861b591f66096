// What a request says before its messages, and how the model hears of a change of it: with the entries that are stored before the reply.
import type { Tool } from '@anthropic-ai/sdk/resources/messages';
import { systemPartsOf } from '../configuration.ts';
import { announce } from '../live/tell.ts';
import { isListed } from '../tools/listed.ts';
import { entriesForPreamble } from '../transcript/preamble.ts';
import { entriesOf } from '../transcript/transcripts.ts';
import type { ModelStep } from './step.ts';

/** What has changed of the system prompt and the tools is told with the entries before the reply. */
export function withPreamble(step: ModelStep): ModelStep {
  const { base, config, live } = step;
  const told = entriesForPreamble(entriesOf(base), { system: systemPartsOf(config), tools: offered(step) });
  if (told.length === 0) return step;
  announce(live, told);
  return { ...step, base: { ...base, added: [...base.added, ...told] } };
}

/** In a new epoch, in which nothing is sent of what the model has thought before. */
export function withoutThinking(step: ModelStep): ModelStep {
  const { base, config } = step;
  const system = systemPartsOf(config);
  const epoch = { kind: 'epoch', why: 'refused', system, tools: offered(step) } as const;
  return { ...step, base: { ...base, added: [...base.added, epoch] } };
}

/** As of now (L44), and only those that the run was opened with (L57) and that a tool has left allowed (L38). */
function offered({ deps, input, config }: ModelStep): readonly Tool[] {
  const limits = [config.tools, input.context?.allowedTools].filter((names) => names !== undefined);
  return asStored(deps.tools.definitions).filter(({ name }) => limits.every((names) => isListed(names, name)));
}

/** As a transcript gives them back, so that the two can be compared. */
const stored = new WeakMap<readonly Tool[], readonly Tool[]>();

function asStored(tools: readonly Tool[]): readonly Tool[] {
  const known = stored.get(tools) ?? (JSON.parse(JSON.stringify(tools)) as readonly Tool[]);
  stored.set(tools, known);
  return known;
}
