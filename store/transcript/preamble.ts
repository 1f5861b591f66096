// Keeps what a model is sent before the messages: the system prompt and the tools. Within an epoch
// they are sent word for word as at its beginning, because the prompt cache and a model's signed
// thinking last only that long (L22 L58 L59). Later changes are appended.
import { isDeepStrictEqual } from 'node:util';
import type { Message, Tool } from '@anthropic-ai/sdk/resources/messages';
import type { PreambleChanged, SystemPart } from '../../workflows/contract/activities.ts';
import { type Entries, type Fold, foldEntries } from '../view/shared-view.ts';
import { isServerTool } from './server-tools.ts';
import type { BoundaryEntry, Entry, EpochEntry, EpochReason, SignedSummary } from '../log/entries.ts';

export type Preamble = Pick<EpochEntry, 'system' | 'tools' | 'names'>;

/** How the model that is called may be told of changes. */
export type Telling = Pick<EpochEntry, 'bySystem' | 'bringsTools'>;

/** The abilities of the model that is called. */
export type AskedModel = {
  readonly telling?: Telling;
  /**
   * How a new epoch tells of changes: a fallback may take less than the model that goes on after
   * it. Absent: `telling`.
   */
  readonly begins?: Telling;
  /** The model's thinking holds only as long as everything before it. */
  readonly checksPrefix?: boolean;
  /** Tells whether the API refuses a definition. */
  readonly isRefused?: (tool: Tool) => boolean;
};

type CurrentEpoch = { readonly epoch: EpochEntry; readonly position: number };

/** The facts about the preamble that entries contain. */
type PreambleLog = {
  /**
   * The epoch that the next request belongs to, or null where it begins a new one: at first, and
   * after a boundary of our own making. A summary that the API has signed stands for messages
   * alone, and the preamble before them stays.
   */
  current: CurrentEpoch | null;
  boundary: { readonly position: number; readonly entry: BoundaryEntry } | null;
  /** Since the epoch. */
  notices: { readonly position: number; readonly notice: PreambleChanged }[];
  snips: { readonly position: number; readonly entries: readonly number[] }[];
  /** Whether a reply was made without thinking that the API found bound to something else. */
  hasDropped: boolean;
  hasReply: boolean;
};

const preambleFold: Fold<PreambleLog> = {
  begin: () => ({ current: null, boundary: null, notices: [], snips: [], hasDropped: false, hasReply: false }),
  copy: (log) => ({ ...log, notices: [...log.notices], snips: [...log.snips] }),
  add(log, entry, position) {
    if (entry.kind === 'epoch')
      Object.assign(log, { current: { epoch: entry, position }, notices: [], snips: [], hasDropped: false });
    else if (entry.kind === 'boundary') {
      log.boundary = { position, entry };
      if (!entry.signed) log.current = null;
    } else if (entry.kind === 'reply') {
      log.hasReply = true;
      log.hasDropped ||= isThinkingDropped(entry.message);
    } else if (entry.kind === 'snip') log.snips.push({ position, entries: entry.entries });
    else if (entry.kind === 'notice' && entry.notice.kind === 'preamble_changed')
      log.notices.push({ position, notice: entry.notice });
  },
};

/** Returns the epoch that the next request belongs to; null where it begins a new one. */
export function currentEpoch(entries: Entries): CurrentEpoch | null {
  return foldEntries(preambleFold, entries).current;
}

/**
 * `told` holds the entries that tell the model of the preamble that is wanted, and `epoch` is the
 * one that the next request belongs to then.
 */
type ToldPreamble = { readonly told: readonly (EpochEntry | NoticeEntry)[]; readonly epoch: EpochEntry };

/**
 * Returns the entries that tell the model of a preamble: none where it knows it all, else a notice
 * of the differences, or a new epoch.
 */
export function tellPreamble(entries: Entries, wanted: Preamble, options: AskedModel = {}): ToldPreamble {
  const log = foldEntries(preambleFold, entries);
  const { current } = log;
  const { begins = options.telling } = options;
  if (current === null) return tellByEpoch(beginEpoch(whyFirstEpoch(log), wanted, begins));
  const known = collectKnown(log, current);
  const news = wanted.tools.filter(
    (tool) => !isKnown(known.tools.get(tool.name), tool) || isForgotten(tool, current, known),
  );
  const why = whyNewEpoch(current, {
    hasDropped: log.hasDropped,
    known,
    news,
    options,
    offersOtherwise: isOfferedOtherwise(current, wanted),
  });
  if (why !== null) return tellByEpoch(beginEpoch(why, wanted, begins));
  const notice = diffPreamble(known, wanted, news);
  const { epoch } = current;
  return {
    told: notice === null ? [] : [{ kind: 'notice', notice: { ...notice, ...tellerOf(epoch, options) } }],
    epoch,
  };
}

/** `news` holds tools that are new, or take other inputs, or are brought again. */
type PreambleDifference = {
  readonly hasDropped: boolean;
  readonly known: KnownPreamble;
  readonly news: readonly Tool[];
  readonly options: AskedModel;
  /**
   * A tool of the API's own comes, goes or is bounded in another way, and the API carries out what
   * the request offers, whatever a message says; or tools have other names than before.
   */
  readonly offersOtherwise: boolean;
};

function whyNewEpoch(
  current: CurrentEpoch,
  { hasDropped, known, news, options, offersOtherwise }: PreambleDifference,
): EpochReason | null {
  const { telling = {}, checksPrefix = false, isRefused = () => false } = options;
  if (hasDropped) return 'refused';
  if ([...known.tools.values()].some(isRefused)) return 'tools';
  if (checksPrefix && isToldOtherwise(current.epoch, known, telling)) return 'server';
  if (offersOtherwise) return 'tools';
  // A model that does not check is sent them among the tools.
  const isBrought = current.epoch.bringsTools === true && (telling.bringsTools === true || !checksPrefix);
  return news.length > 0 && !isBrought ? 'tools' : null;
}

function isOfferedOtherwise({ epoch }: CurrentEpoch, wanted: Preamble): boolean {
  if (namesDiffer(epoch.names, wanted.names)) return true;
  return !isDeepStrictEqual(epoch.tools.filter(isServerTool), wanted.tools.filter(isServerTool));
}

/** Calls that were made before would stand there under other names. New tools add to the table. */
function namesDiffer(before: Preamble['names'] = {}, now: Preamble['names'] = {}): boolean {
  return [...Object.keys(before), ...Object.keys(now)].some((name) => before[name] !== now[name]);
}

/**
 * Tells whether a change was told by means that the server no longer takes: it would be sent
 * otherwise than it was.
 */
function isToldOtherwise(
  { bySystem, bringsTools, tools }: EpochEntry,
  known: KnownPreamble,
  telling: Telling,
): boolean {
  if (bySystem && !telling.bySystem && known.notices.some(({ by }) => by === 'system' || by === 'tools')) return true;
  if (!bringsTools || telling.bringsTools) return false;
  return known.notices.some(changesByName) || !isDeepStrictEqual([...known.tools.values()], tools);
}

/**
 * Tells whether a model that takes `telling` is sent everything as it was told: the tools are to
 * the letter those of the epoch.
 */
export function isSentAsTold(entries: Entries, telling: Telling): boolean {
  const log = foldEntries(preambleFold, entries);
  const { current } = log;
  return current !== null && !isToldOtherwise(current.epoch, collectKnown(log, current), telling);
}

function changesByName({ by, toolsGone, toolsBack }: PreambleChanged): boolean {
  return by === 'tools' && toolsGone.length + toolsBack.length > 0;
}

/**
 * Chooses by what message a change is told, for good: a server may take less than it will, or did.
 * A model that does not check is told anew as it takes it.
 */
function tellerOf(epoch: EpochEntry, { telling = {}, checksPrefix = false }: AskedModel): Pick<PreambleChanged, 'by'> {
  if (!epoch.bySystem) return {};
  const { bySystem, bringsTools } = checksPrefix ? telling : epoch;
  if (!bySystem) return { by: 'user' };
  return { by: epoch.bringsTools && bringsTools ? 'tools' : 'system' };
}

export function beginEpoch(why: EpochReason, { system, tools, names }: Preamble, telling: Telling = {}): EpochEntry {
  return { kind: 'epoch', why, system, tools, ...(names && { names }), ...telling };
}

function tellByEpoch(epoch: EpochEntry): ToldPreamble {
  return { told: [epoch], epoch };
}

/**
 * Returns the tools of a request. A model that takes no tools from messages also gets those that
 * messages have brought, which it is shown as text alone.
 */
export function toolsIn(entries: Entries, telling: Telling): readonly Tool[] {
  const log = foldEntries(preambleFold, entries);
  const { current } = log;
  if (current === null) return [];
  const { epoch } = current;
  if (epoch.bringsTools && telling.bringsTools) return epoch.tools;
  return [...collectKnown(log, current).tools.values()];
}

/**
 * Names the tools that the model has been told of in the current epoch, also those that are gone.
 */
export function toldTools(entries: Entries): ReadonlySet<string> {
  const log = foldEntries(preambleFold, entries);
  return new Set(log.current === null ? [] : collectKnown(log, log.current).tools.keys());
}

/** The part of a message in which the API says what it left out of a request, and why. */
type TransformedMessage = {
  readonly input_transformations?: readonly { readonly type?: string; readonly reason?: string }[];
};

/**
 * Tells whether the API dropped thinking because it is bound to something else. Thinking that the
 * model cannot read is dropped too, which is harmless: another model may read it.
 */
export function isThinkingDropped(message: Message): boolean {
  const { input_transformations: all = [] } = message as TransformedMessage;
  return (
    Array.isArray(all) &&
    all.some(({ type, reason }) => type === 'thinking_dropped' && reason === 'prefix_binding_mismatch')
  );
}

type NoticeEntry = Extract<Entry, { kind: 'notice' }>;

function whyFirstEpoch({ boundary, hasReply }: PreambleLog): EpochReason {
  if (boundary !== null) return 'compacted';
  return hasReply ? 'older' : 'first';
}

/**
 * Tells whether the model knows the tool. Its description may differ: the words stay as they were.
 */
function isKnown(known: Tool | undefined, tool: Tool): boolean {
  return known !== undefined && isDeepStrictEqual(known.input_schema, tool.input_schema);
}

/**
 * Tells whether the model has lost a tool that a message brought and another took: a summary keeps
 * nothing of it, so when it is back it is brought again.
 */
function isForgotten({ name }: Tool, { epoch }: CurrentEpoch, { removed }: KnownPreamble): boolean {
  return removed.has(name) && !epoch.tools.some((tool) => tool.name === name);
}

/** The preamble as the model has been told by now. */
type KnownPreamble = {
  readonly parts: Map<string, string>;
  readonly tools: Map<string, Tool>;
  readonly removed: Set<string>;
  /** The notices that the model is sent. */
  readonly notices: PreambleChanged[];
};

function collectKnown({ boundary, notices, snips }: PreambleLog, { epoch, position }: CurrentEpoch): KnownPreamble {
  const known: KnownPreamble = {
    parts: new Map(epoch.system.map(({ name, text }) => [name, text])),
    tools: new Map(epoch.tools.map((tool) => [tool.name, tool])),
    removed: new Set(),
    notices: [],
  };
  const signed = boundary && boundary.position > position ? boundary.entry : undefined;
  // A summary holds the tools that its messages told of; the rest is told again.
  for (const change of toolChangesOf(signed?.signed)) applyChange(known, change);
  const from = Math.max(position + 1, signed?.from ?? 0);
  // A change that a hidden notice told is told again (L7).
  const hidden = new Set(
    snips.flatMap((snip) => (snip.position < from ? [] : snip.entries.filter((each) => each < snip.position))),
  );
  for (const placed of notices)
    if (placed.position >= from && !hidden.has(placed.position)) applyNotice(known, placed.notice);
  return known;
}

function applyNotice({ parts, tools, removed, notices }: KnownPreamble, notice: PreambleChanged): void {
  notices.push(notice);
  for (const { name, text } of notice.parts) parts.set(name, text);
  for (const name of notice.ended) parts.delete(name);
  for (const name of notice.toolsGone) removed.add(name);
  for (const name of notice.toolsBack) removed.delete(name);
  for (const tool of (notice.toolsNew ?? []) as unknown as readonly Tool[]) {
    tools.set(tool.name, tool);
    removed.delete(tool.name);
  }
}

/** A block of a system message that brings or takes a tool, as a summary repeats it. */
type ToolChange = {
  readonly type?: unknown;
  readonly tool?: { readonly name?: unknown; readonly definition?: Partial<Tool> };
};

function toolChangesOf(signed: SignedSummary | undefined): readonly ToolChange[] {
  const changes = signed?.['tool_changes'];
  return Array.isArray(changes) ? (changes as readonly ToolChange[]) : [];
}

function applyChange({ tools, removed }: KnownPreamble, { type, tool: { name, definition } = {} }: ToolChange): void {
  if (type === 'tool_addition' && typeof definition?.name === 'string') {
    tools.set(definition.name, definition as Tool);
    removed.delete(definition.name);
  } else if (typeof name === 'string' && tools.has(name)) {
    if (type === 'tool_removal') removed.add(name);
    else removed.delete(name);
  }
}

function diffPreamble(known: KnownPreamble, wanted: Preamble, news: readonly Tool[]): PreambleChanged | null {
  const tools = [...known.tools.values()];
  const names = new Set(wanted.system.map(({ name }) => name));
  const offered = new Set(wanted.tools.map(({ name }) => name));
  const isOffered = ({ name }: Tool): boolean => offered.has(name);
  const isNew = ({ name }: Tool): boolean => news.some((tool) => tool.name === name);
  const changed: PreambleChanged = {
    kind: 'preamble_changed',
    parts: wanted.system.filter(({ name, text }) => known.parts.get(name) !== text),
    ended: [...known.parts.keys()].filter((name) => !names.has(name)),
    toolsGone: namesOf(tools.filter((tool) => !isOffered(tool) && !known.removed.has(tool.name))),
    toolsBack: namesOf(tools.filter((tool) => isOffered(tool) && known.removed.has(tool.name) && !isNew(tool))),
    ...(news.length > 0 && { toolsNew: news.map((tool) => ({ ...tool })) }),
  };
  const { parts, ended: removedParts, toolsGone, toolsBack } = changed;
  return [parts, removedParts, toolsGone, toolsBack, news].every(({ length }) => length === 0) ? null : changed;
}

function namesOf(tools: readonly Tool[]): readonly string[] {
  return tools.map(({ name }) => name);
}

/** Returns the system prompt as it is sent. */
export function joinSystemPrompt(parts: readonly SystemPart[]): string {
  return parts.map(({ text }) => text).join('\n\n');
}
