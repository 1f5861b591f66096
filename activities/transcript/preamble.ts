// What a model is sent before the messages: the system prompt and the tools. Within an epoch they are sent word for word as they were
// when it began, for the prompt cache and a model's signed thinking hold only so long (L22 L58 L59). What changes meanwhile is appended.
import { isDeepStrictEqual } from 'node:util';
import type { Message, Tool } from '@anthropic-ai/sdk/resources/messages';
import type { PreambleChanged, SystemPart } from '../../workflows/contract/activities.ts';
import type { BoundaryEntry, Entry, EpochEntry, EpochReason } from './log/entries.ts';

export type Preamble = Pick<EpochEntry, 'system' | 'tools'>;

/**
 * The epoch that the next request belongs to; null where it begins a new one: at first, and after a boundary of our own making. A summary that
 * the API has signed stands for messages alone: what was before them stays.
 */
export function currentEpoch(
  entries: readonly Entry[],
): { readonly epoch: EpochEntry; readonly position: number } | null {
  for (let position = entries.length - 1; position >= 0; position -= 1) {
    const entry = entries[position];
    if (entry?.kind === 'boundary' && !entry.signed) return null;
    if (entry?.kind === 'epoch') return { epoch: entry, position };
  }
  return null;
}

/** `told`: the entries that make what is wanted known to the model. `epoch`: the one that the next request belongs to then. */
type ToldPreamble = { readonly told: readonly (EpochEntry | NoticeEntry)[]; readonly epoch: EpochEntry };

/** Tells nothing where the model knows it all, else a notice of what differs, or a new epoch. */
export function tellPreamble(entries: readonly Entry[], wanted: Preamble): ToldPreamble {
  const current = currentEpoch(entries);
  if (current === null) return toldBy(beginEpoch(whyFirst(entries), wanted));
  const why = hasDroppedThinking(entries, current.position)
    ? 'refused'
    : hasNewTool(current.epoch, wanted)
      ? 'tools'
      : null;
  if (why !== null) return toldBy(beginEpoch(why, wanted));
  const notice = difference(knownSince(entries, current), wanted, current.epoch);
  return { told: notice === null ? [] : [{ kind: 'notice', notice }], epoch: current.epoch };
}

export function beginEpoch(why: EpochReason, { system, tools }: Preamble): EpochEntry {
  return { kind: 'epoch', why, system, tools };
}

function toldBy(epoch: EpochEntry): ToldPreamble {
  return { told: [epoch], epoch };
}

/** The API says what it left out of a request, and why. */
type Transformed = { readonly input_transformations?: readonly { readonly type?: string; readonly reason?: string }[] };

/** A reply since the epoch began was made without thinking that the API found bound to something else. */
function hasDroppedThinking(entries: readonly Entry[], epochAt: number): boolean {
  return entries.slice(epochAt).some((entry) => entry.kind === 'reply' && droppedThinking(entry.message));
}

/** Thinking that the model cannot read is dropped too; that is no defect, and another model may read it. */
export function droppedThinking(message: Message): boolean {
  const { input_transformations: all = [] } = message as Transformed;
  return (
    Array.isArray(all) &&
    all.some(({ type, reason }) => type === 'thinking_dropped' && reason === 'prefix_binding_mismatch')
  );
}

type NoticeEntry = Extract<Entry, { kind: 'notice' }>;

function whyFirst(entries: readonly Entry[]): EpochReason {
  if (entries.some(({ kind }) => kind === 'boundary')) return 'compacted';
  return entries.some(({ kind }) => kind === 'reply') ? 'older' : 'first';
}

/** A tool can only be said to be gone: one that is new, or takes other inputs, is in no message. Its description may differ. */
function hasNewTool({ tools }: EpochEntry, wanted: Preamble): boolean {
  const known = new Map(tools.map((tool) => [tool.name, tool]));
  return wanted.tools.some((tool) => !isDeepStrictEqual(known.get(tool.name)?.input_schema, tool.input_schema));
}

/** What the model has been told by now. */
type Known = { readonly parts: Map<string, string>; readonly gone: Set<string> };

function knownSince(
  entries: readonly Entry[],
  { epoch, position }: NonNullable<ReturnType<typeof currentEpoch>>,
): Known {
  const parts = new Map(epoch.system.map(({ name, text }) => [name, text]));
  const gone = new Set<string>();
  // What was told in messages that a summary stands for is told again.
  const kept = entries.findLast(({ kind }) => kind === 'boundary') as BoundaryEntry | undefined;
  for (const entry of entries.slice(Math.max(position + 1, kept?.signed ? kept.from : 0))) {
    if (entry.kind !== 'notice' || entry.notice.kind !== 'preamble_changed') continue;
    for (const { name, text } of entry.notice.parts) parts.set(name, text);
    for (const name of entry.notice.ended) parts.delete(name);
    for (const name of entry.notice.toolsGone) gone.add(name);
    for (const name of entry.notice.toolsBack) gone.delete(name);
  }
  return { parts, gone };
}

function difference(known: Known, wanted: Preamble, { tools }: EpochEntry): PreambleChanged | null {
  const names = new Set(wanted.system.map(({ name }) => name));
  const offered = new Set(wanted.tools.map(({ name }) => name));
  const isOffered = ({ name }: Tool): boolean => offered.has(name);
  const changed: PreambleChanged = {
    kind: 'preamble_changed',
    parts: wanted.system.filter(({ name, text }) => known.parts.get(name) !== text),
    ended: [...known.parts.keys()].filter((name) => !names.has(name)),
    toolsGone: namesOf(tools.filter((tool) => !isOffered(tool) && !known.gone.has(tool.name))),
    toolsBack: namesOf(tools.filter((tool) => isOffered(tool) && known.gone.has(tool.name))),
  };
  const { parts, ended, toolsGone, toolsBack } = changed;
  return [parts, ended, toolsGone, toolsBack].every(({ length }) => length === 0) ? null : changed;
}

function namesOf(tools: readonly Tool[]): readonly string[] {
  return tools.map(({ name }) => name);
}

/** As it is sent. */
export function systemText(parts: readonly SystemPart[]): string {
  return parts.map(({ text }) => text).join('\n\n');
}
