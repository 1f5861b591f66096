// Picks the entries from before a compaction boundary that still count for a worker, and as little
// as counts of each. They are stored in the boundary's segment, so that a cold read ends there.
// They are exact for every view that holds the boundary: in what the model sees, what is shrunk or
// summarised next, which files the agent knows, which run it is.
import type { ContentBlock } from '@anthropic-ai/sdk/resources/messages';
import type { Behind, BoundaryEntry, Entry, Outcome, ReplyEntry } from '../log/entries.ts';
import { knowledgeIn } from '../snapshots/snapshot-points.ts';
import { finalPieces } from './result.ts';
import { hasCalls, hasThinking, hasEndedTooLong, clampPosition } from '../transcript/marks.ts';
import { isSystemMessage } from '../transcript/system-message.ts';
import { filesSeenIn, MOST_SEEN } from './seen-files.ts';
import { foundTools, toolsFoundIn } from '../transcript/found-tools.ts';

/**
 * `entries` are all entries, the new boundary included; those before `begin` may be unread. Returns
 * undefined without a boundary, and for one that reaches further back.
 */
export function behindOf(entries: readonly Entry[], begin: number): Behind | undefined {
  const at = entries.findLastIndex(({ kind }) => kind === 'boundary');
  const boundary = entries[at] as BoundaryEntry | undefined;
  if (!boundary || !Number.isSafeInteger(boundary.from)) return undefined;
  const before = entries.slice(0, at);
  // The last answer is read as a whole, with the pieces that it continues (L27).
  const from = Math.min(clampPosition(boundary.from, at), finalPieces(before)[0] ?? at);
  if (from < begin) return undefined;
  const old = before.slice(0, from);
  const system = old.flatMap((entry, position) => (isSystemMessage(entry) ? [position] : []));
  const prompts = new Set([...boundary.prompts.filter((each) => old[each]?.kind === 'user'), ...system]);
  const carried = new Map<number, Entry>([
    ...findLastFiles(old),
    ...findLastShrunk(old),
    ...findStaged(old),
    ...findSnips(old, prompts),
    ...findSnapshots(old),
    ...findRunAndTrajectory(old),
    ...(boundary.signed ? findLastEpoch(old) : []),
    ...findUnanswered(old, prompts),
    ...[...prompts].map((position) => [position, old[position] as Entry] as const),
  ]);
  for (const [position, entry] of findFoundTools(old, carried)) carried.set(position, entry);
  return { from, entries: [...carried].toSorted(([a], [b]) => a - b) };
}

type PlacedEntry = readonly [position: number, entry: Entry];

/** Finds the files that the agent has seen last (L43). */
function findLastFiles(old: readonly Entry[]): PlacedEntry[] {
  const paths = new Set<string>();
  const placed: PlacedEntry[] = [];
  for (let position = old.length - 1; position >= 0 && paths.size < MOST_SEEN; position -= 1) {
    const entry = old[position] as Entry;
    const files = filesSeenIn(entry)
      .toReversed()
      .filter(({ path }) => paths.size < MOST_SEEN && !paths.has(path) && paths.add(path))
      .toReversed();
    if (files.length > 0) placed.push([position, keepFiles(entry, files)]);
  }
  return placed;
}

function keepFiles(entry: Entry, files: ReturnType<typeof filesSeenIn>): Entry {
  if (entry.kind !== 'outcomes') return { kind: 'notice', notice: { kind: 'files_changed', paths: [], files } };
  const { index, toolUseId, log } = entry.outcomes[0] as Outcome;
  return { kind: 'outcomes', outcomes: [{ index, toolUseId, isError: false, content: '', seen: files, log }] };
}

/** Finds the tools that were found, all in the outcome that found the last (L74). */
function findFoundTools(old: readonly Entry[], carried: ReadonlyMap<number, Entry>): PlacedEntry[] {
  const position = old.findLastIndex((entry) => toolsFoundIn(entry).length > 0);
  if (position < 0) return [];
  const entry = carried.get(position) ?? keepFiles(old[position] as Entry, []);
  if (entry.kind !== 'outcomes') return [];
  const [outcome] = entry.outcomes as readonly [Outcome];
  return [[position, { ...entry, outcomes: [{ ...outcome, found: [...foundTools(old)] }] }]];
}

/**
 * Finds what tells last of each folder which snapshot lies there, a capture or a rewind, without
 * what had changed (T1, T7).
 */
function findSnapshots(old: readonly Entry[]): PlacedEntry[] {
  const known = new Set<string>();
  const placed: PlacedEntry[] = [];
  for (let position = old.length - 1; position >= 0; position -= 1) {
    const entry = old[position] as Entry;
    const newest = new Set(knowledgeIn(entry).flatMap(({ root }) => (known.has(root) ? [] : [root])));
    if (newest.size === 0) continue;
    for (const root of newest) known.add(root);
    placed.push([position, keepRoots(entry, newest)]);
  }
  return placed;
}

function keepRoots(entry: Entry, newest: ReadonlySet<string>): Entry {
  if (entry.kind !== 'files') return entry;
  const roots = entry.roots.filter(({ root }) => newest.has(root));
  return { ...entry, roots: roots.map((root) => ({ ...root, names: [] })) };
}

/** Finds the last epoch, which goes on after a summary that the API has signed (L58). */
function findLastEpoch(old: readonly Entry[]): PlacedEntry[] {
  const position = old.findLastIndex(({ kind }) => kind === 'epoch');
  return position < 0 ? [] : [[position, old[position] as Entry]];
}

/** Finds the microcompaction that reaches furthest (L8). */
function findLastShrunk(old: readonly Entry[]): PlacedEntry[] {
  let most = 0;
  let placed: PlacedEntry[] = [];
  for (const [position, entry] of old.entries()) {
    if (entry.kind !== 'microcompact' || clampPosition(entry.before, position) <= most) continue;
    most = clampPosition(entry.before, position);
    placed = [[position, entry]];
  }
  return placed;
}

/**
 * Finds staged collapses: the boundary hides them, but the oldest is still committed first (L9).
 */
function findStaged(old: readonly Entry[]): PlacedEntry[] {
  let staged: PlacedEntry[] = [];
  for (const [position, entry] of old.entries()) {
    if (entry.kind === 'boundary') staged = [];
    else if (entry.kind === 'collapse_staged') staged.push([position, { ...entry, short: '' }]);
    else if (entry.kind === 'collapse_committed') staged.splice(0, clampPosition(entry.count, staged.length));
  }
  return staged;
}

/** Finds snips of kept prompts (L7). */
function findSnips(old: readonly Entry[], prompts: ReadonlySet<number>): PlacedEntry[] {
  return old.flatMap((entry, position): PlacedEntry[] => {
    if (entry.kind !== 'snip') return [];
    const entries = entry.entries.filter((each) => prompts.has(each));
    return entries.length === 0 ? [] : [[position, { kind: 'snip', entries }]];
  });
}

/** Finds the run, and where its open trajectory begins and whether it is signed (L59). */
function findRunAndTrajectory(old: readonly Entry[]): PlacedEntry[] {
  const placed: PlacedEntry[] = [];
  const run = old.findLastIndex(({ kind }) => kind === 'run_started');
  if (run >= 0) placed.push([run, old[run] as Entry]);
  let signed = false;
  for (let position = old.length - 1; position > run; position -= 1) {
    const entry = old[position] as Entry;
    if (entry.kind !== 'reply') continue;
    if (!hasCalls(entry) || (hasThinking(entry) && !signed)) placed.push([position, stripReply(entry)]);
    if (!hasCalls(entry)) break;
    signed ||= hasThinking(entry);
  }
  return placed;
}

/** Strips a reply to the facts that it made calls, and that it thought. */
function stripReply(entry: ReplyEntry): ReplyEntry {
  const { content } = entry.message;
  const call = content.find(({ type }) => type === 'tool_use');
  const blocks: ContentBlock[] = call?.type === 'tool_use' ? [{ ...call, input: {} }] : [];
  if (hasThinking(entry)) blocks.push({ type: 'redacted_thinking', data: '' });
  return { ...entry, message: { ...entry.message, content: blocks } };
}

/**
 * Finds the groups of unanswered messages: how much of a prompt that was too large is shown depends
 * on the messages it was too large with (L6). Each group begins after a reply and ends with one,
 * and both are kept, so that nothing else that is kept joins it; the last may go on.
 */
function findUnanswered(old: readonly Entry[], prompts: ReadonlySet<number>): PlacedEntry[] {
  const placed: PlacedEntry[] = [];
  let group: number[] = [];
  let ends: PlacedEntry[] = [];
  let reply: PlacedEntry[] = [];
  const keep = (): void => {
    placed.push(...reply, ...group.map((position) => [position, stripWords(old[position] as Entry)] as const), ...ends);
  };
  for (const [position, entry] of old.entries()) {
    if (entry.kind === 'user' || entry.kind === 'notice') group.push(position);
    else if (entry.kind === 'run_ended' && hasEndedTooLong(entry)) ends.push([position, entry]);
    else if (entry.kind === 'reply') {
      const isKept = ends.length > 0 && group.some((each) => prompts.has(each));
      if (isKept) keep();
      [group, ends, reply] = [[], [], [[position, stripReply(entry)]]];
      if (isKept) placed.push(...reply);
    }
  }
  keep();
  return placed;
}

function stripWords(entry: Entry): Entry {
  if (entry.kind !== 'user') return entry;
  const { goal: _, ...prompt } = entry;
  return { ...prompt, body: { kind: 'text', text: '' } };
}
