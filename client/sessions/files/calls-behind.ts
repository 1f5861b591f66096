// Finds the calls that have changed what a capture of files tells of (T5), and lists all captures.
import { findCauses, type WrittenCall } from '../../../store/snapshots/snapshot-points.ts';
import type { RootSnapshot } from '../../../store/snapshots/files-entry.ts';
import type { Entry, Outcome, ReplyEntry } from '../../../store/log/entries.ts';
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
