// Which entries from before a compaction boundary still count for a worker, and as little as counts
// of each. They are stored in the boundary's segment, so that a cold read ends there. They are
// exact for every view that holds the boundary: in what the model sees, what is shrunk or
// summarised next, which files the agent knows, which run it is.
import type { Behind, BoundaryEntry, Entry, Outcome, ReplyEntry } from '../log/entries.ts';
import { finalPieces } from './result.ts';
import { hasCalls, hasThinking, hasEndedTooLong, within } from '../transcript/marks.ts';
import { filesSeenIn, MOST_SEEN } from './seen-files.ts';

/**
 * `entries`: all, the new boundary among them; those before `begin` may be unread. Undefined
 * without a boundary, and for one that reaches further back.
 */
export function behindOf(entries: readonly Entry[], begin: number): Behind | undefined {
  const at = entries.findLastIndex(({ kind }) => kind === 'boundary');
  const boundary = entries[at] as BoundaryEntry | undefined;
  if (!boundary || !Number.isSafeInteger(boundary.from)) return undefined;
  const before = entries.slice(0, at);
  // The last answer is read as a whole, with the pieces that it continues (L27).
  const from = Math.min(within(boundary.from, at), finalPieces(before)[0] ?? at);
  if (from < begin) return undefined;
  const old = before.slice(0, from);
  const prompts = new Set(boundary.prompts.filter((each) => old[each]?.kind === 'user'));
  const kept = new Map<number, Entry>([
    ...lastFiles(old),
    ...lastShrunk(old),
    ...stagedOf(old),
    ...snipsOf(old, prompts),
    ...runAndTrajectory(old),
    ...(boundary.signed ? lastEpoch(old) : []),
    ...unanswered(old, prompts),
    ...[...prompts].map((position) => [position, old[position] as Entry] as const),
  ]);
  return { from, entries: [...kept].toSorted(([a], [b]) => a - b) };
}

type Placed = readonly [position: number, entry: Entry];

/** L43: those the agent has seen last. */
function lastFiles(old: readonly Entry[]): Placed[] {
  const paths = new Set<string>();
  const kept: Placed[] = [];
  for (let position = old.length - 1; position >= 0 && paths.size < MOST_SEEN; position -= 1) {
    const entry = old[position] as Entry;
    const files = filesSeenIn(entry)
      .toReversed()
      .filter(({ path }) => paths.size < MOST_SEEN && !paths.has(path) && paths.add(path))
      .toReversed();
    if (files.length > 0) kept.push([position, onlyFiles(entry, files)]);
  }
  return kept;
}

function onlyFiles(entry: Entry, files: ReturnType<typeof filesSeenIn>): Entry {
  if (entry.kind !== 'outcomes') return { kind: 'notice', notice: { kind: 'files_changed', paths: [], files } };
  const { index, toolUseId, log } = entry.outcomes[0] as Outcome;
  return { kind: 'outcomes', outcomes: [{ index, toolUseId, isError: false, content: '', seen: files, log }] };
}

/** L58: after a summary that the API has signed it goes on. */
function lastEpoch(old: readonly Entry[]): Placed[] {
  const position = old.findLastIndex(({ kind }) => kind === 'epoch');
  return position < 0 ? [] : [[position, old[position] as Entry]];
}

/** L8: no other says more. */
function lastShrunk(old: readonly Entry[]): Placed[] {
  let most = 0;
  let kept: Placed[] = [];
  for (const [position, entry] of old.entries()) {
    if (entry.kind !== 'microcompact' || within(entry.before, position) <= most) continue;
    most = within(entry.before, position);
    kept = [[position, entry]];
  }
  return kept;
}

/** L9: the boundary hides them, but the oldest is still committed first. */
function stagedOf(old: readonly Entry[]): Placed[] {
  let staged: Placed[] = [];
  for (const [position, entry] of old.entries()) {
    if (entry.kind === 'boundary') staged = [];
    else if (entry.kind === 'collapse_staged') staged.push([position, { ...entry, short: '' }]);
    else if (entry.kind === 'collapse_committed') staged.splice(0, within(entry.count, staged.length));
  }
  return staged;
}

/** L7. */
function snipsOf(old: readonly Entry[], prompts: ReadonlySet<number>): Placed[] {
  return old.flatMap((entry, position): Placed[] => {
    if (entry.kind !== 'snip') return [];
    const entries = entry.entries.filter((each) => prompts.has(each));
    return entries.length === 0 ? [] : [[position, { kind: 'snip', entries }]];
  });
}

/** The run, and where its open trajectory begins and whether it is signed (L59). */
function runAndTrajectory(old: readonly Entry[]): Placed[] {
  const kept: Placed[] = [];
  const run = old.findLastIndex(({ kind }) => kind === 'run_started');
  if (run >= 0) kept.push([run, old[run] as Entry]);
  let signed = false;
  for (let position = old.length - 1; position > run; position -= 1) {
    const entry = old[position] as Entry;
    if (entry.kind !== 'reply') continue;
    if (!hasCalls(entry) || (hasThinking(entry) && !signed)) kept.push([position, shell(entry)]);
    if (!hasCalls(entry)) break;
    signed ||= hasThinking(entry);
  }
  return kept;
}

/** That it made calls, and that it thought. */
function shell(entry: ReplyEntry): ReplyEntry {
  const { content } = entry.message;
  const call = content.find(({ type }) => type === 'tool_use');
  const kept = [
    ...(call?.type === 'tool_use' ? [{ ...call, input: {} }] : []),
    ...(hasThinking(entry) ? [{ type: 'redacted_thinking', data: '' } as const] : []),
  ];
  return { ...entry, message: { ...entry.message, content: kept } };
}

/**
 * L6: with whom a prompt was too large for its run decides how much of it is shown. Each group
 * begins after a reply and ends with one, and both are kept, so that nothing else that is kept
 * joins it; the last may go on.
 */
function unanswered(old: readonly Entry[], prompts: ReadonlySet<number>): Placed[] {
  const kept: Placed[] = [];
  let group: number[] = [];
  let ends: Placed[] = [];
  let reply: Placed[] = [];
  const keep = (): void => {
    kept.push(...reply, ...group.map((position) => [position, wordless(old[position] as Entry)] as const), ...ends);
  };
  for (const [position, entry] of old.entries()) {
    if (entry.kind === 'user' || entry.kind === 'notice') group.push(position);
    else if (entry.kind === 'run_ended' && hasEndedTooLong(entry)) ends.push([position, entry]);
    else if (entry.kind === 'reply') {
      const isKept = ends.length > 0 && group.some((each) => prompts.has(each));
      if (isKept) keep();
      [group, ends, reply] = [[], [], [[position, shell(entry)]]];
      if (isKept) kept.push(...reply);
    }
  }
  keep();
  return kept;
}

function wordless(entry: Entry): Entry {
  if (entry.kind === 'user') return { ...entry, body: { kind: 'text', text: '' } };
  return entry;
}
