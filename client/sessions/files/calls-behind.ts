// Finds the calls that have changed what a capture of files tells of (T5), and lists all captures.
// Finds the snapshots with the files that belong to a conversation up to a position, and the first
// call whose effects no snapshot has yet (T8, T10).
// Lists the calls that a rewind leaves behind and that may have done more than change files (T8).
import { type Entry, type Outcome, type ReplyEntry, rewoundIn } from '../../../store/log/entries.ts';
import type { RootSnapshot } from '../../../store/snapshots/files-entry.ts';
import {
  entriesUpTo,
  findCauses,
  isAfterCalls,
  lastSnapshots,
  type SnapshotsAt,
  type WrittenCall,
} from '../../../store/snapshots/snapshot-points.ts';
import type { BuiltinName } from '../../../tools/builtin/builtin-names.ts';
import { judgeShell } from '../../../tools/builtin/shell/read-only-shell.ts';

const READING: ReadonlySet<string> = new Set<BuiltinName>([
  'agent_output',
  'ask_user',
  'bash_output',
  'glob',
  'grep',
  'read',
  'skill',
  'todo',
  'wait',
  'web_fetch',
]);

/** Tells whether a call of that name and input may have changed files. */
function mayChangeFiles({ name, input }: WrittenCall): boolean {
  if (READING.has(name)) return false;
  const command = (input as { readonly command?: unknown } | null)?.command;
  return name !== 'bash' || typeof command !== 'string' || !judgeShell(command, { cwd: '/' }).readOnly;
}

/**
 * Returns the call of an outcome that may have changed files; null for one that was not let run.
 */
export function findChangingCall(reply: ReplyEntry | undefined, { index, log }: Outcome): WrittenCall | null {
  const block = reply?.message.content[index];
  if (block?.type !== 'tool_use' || log.decision !== 'allowed' || log.outcome === 'not_run') return null;
  return mayChangeFiles(block) ? block : null;
}

/** Returns the calls that have changed what the capture at index `at` of the entries tells of. */
export function callsBehind(entries: readonly Entry[], at: number): readonly WrittenCall[] {
  return findCauses(entries, at, mayChangeFiles);
}

/** One capture of a session's files. */
export type FilesCapture = {
  /** The position of its entry. */
  readonly position: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly roots: readonly RootSnapshot[];
  /** Empty for the first one of a folder, and where a person or another program changed files. */
  readonly calls: readonly WrittenCall[];
};

export function listCaptures(entries: readonly Entry[]): readonly FilesCapture[] {
  return entries.flatMap((entry, position) => {
    if (entry.kind !== 'files') return [];
    const { at, roots } = entry;
    const isFirst = roots.every(({ parent }) => parent === null);
    return [{ position, at, roots, calls: isFirst ? [] : callsBehind(entries, position) }];
  });
}

/**
 * Returns the snapshots of the files before the entry at a position. A step that begins with
 * outcomes of calls has captured what they left, so before it is before them; before a rewind the
 * files were as the conversation before it tells.
 */
export const snapshotsBefore = (entries: readonly Entry[], position: number): SnapshotsAt =>
  lastSnapshots(entriesBefore(entries, position));

/** Returns the entries that tell of these snapshots. */
export function entriesBefore(entries: readonly Entry[], position: number): readonly Entry[] {
  const entry = entries[position];
  return isAfterCalls(entry) || rewoundIn(entry)
    ? entries.slice(0, position)
    : entriesUpTo({ entries, first: 0 }, position);
}

/**
 * Finds the first outcomes of the last reply of `shared` that may have changed files which no
 * snapshot before the entries of `rest` holds: their capture comes with the next reply, or at the
 * end of the run. Returns null without any.
 */
export function findUncapturedOutcome(shared: readonly Entry[], rest: readonly Entry[]): number | null {
  if (!isAfterCalls(rest[0]) && rest.some(({ kind }) => ['reply', 'files', 'run_ended'].includes(kind))) return null;
  const at = shared.findLastIndex(({ kind }) => ['reply', 'run_started', 'run_ended'].includes(kind));
  const reply = shared[at];
  if (reply?.kind !== 'reply') return null;
  const captured = shared.findLastIndex(({ kind }) => kind === 'files');
  const found = shared.findIndex(
    (entry, index) =>
      index > Math.max(at, captured) &&
      entry.kind === 'outcomes' &&
      entry.outcomes.some((outcome) => findChangingCall(reply, outcome) !== null),
  );
  return found < 0 ? null : found;
}

export type RemainingEffect = {
  readonly name: string;
  readonly input: unknown;
  /** `unknown`: the call's end was lost. */
  readonly outcome: Outcome['log']['outcome'];
  /** Files that it has changed go back; whatever else it did stays done. */
  readonly filesGoBack?: true;
};

/**
 * Finds calls from the entry at `first` on whose effects stay: where files go back, edits and
 * writes go with them.
 */
export function listLeftEffects(
  entries: readonly Entry[],
  first: number,
  goFiles: boolean,
): readonly RemainingEffect[] {
  const undone = goFiles ? inputsBehindCaptures(entries, first) : new Set<unknown>();
  let reply = entries.slice(0, first).findLast((entry): entry is ReplyEntry => entry.kind === 'reply');
  const effects: RemainingEffect[] = [];
  for (const entry of entries.slice(first)) {
    if (entry.kind === 'reply') reply = entry;
    if (entry.kind !== 'outcomes') continue;
    for (const outcome of entry.outcomes) {
      const call = findChangingCall(reply, outcome);
      if (!call || (goFiles && FILE_TOOLS.has(call.name))) continue;
      const { name, input } = call;
      effects.push({ name, input, outcome: outcome.log.outcome, ...(undone.has(input) && { filesGoBack: true }) });
    }
  }
  return effects;
}

/** A call is told from others by its input, which is one object of the transcript. */
function inputsBehindCaptures(entries: readonly Entry[], first: number): ReadonlySet<unknown> {
  const inputs = new Set<unknown>();
  for (const [at, { kind }] of entries.entries())
    if (at >= first && kind === 'files') for (const { input } of callsBehind(entries, at)) inputs.add(input);
  return inputs;
}

const FILE_TOOLS: ReadonlySet<string> = new Set(['edit', 'write']);
