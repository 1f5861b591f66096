// Says what a capture of files has found changed, and by which calls (T5).
import { type FilesEntry, filesText } from '../../store/snapshots/files-entry.ts';
import { lastIndexBefore, type WrittenCall } from '../../store/snapshots/snapshot-points.ts';
import type { Entry } from '../../store/log/entries.ts';
import { callsBehind } from '../sessions/files/calls-behind.ts';
import { oneLine, truncateWithCount } from '../paint.ts';
import { formatCount } from '../units.ts';
import { inputFields } from './tool-lines.ts';

const WORDS = 80;

/** Names calls: one by its words, several by their counts, as in `2 × write, bash`. */
export function callsText(calls: readonly WrittenCall[]): string {
  const [only, ...others] = calls;
  if (only && others.length === 0) {
    const [first] = inputFields(only.input);
    return `${oneLine(only.name, 60)} ${truncateWithCount(first?.text ?? '', WORDS)}`.trimEnd();
  }
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => `${count > 1 ? `${count} × ` : ''}${oneLine(name, 60)}`).join(', ');
}

/**
 * Sums up the capture at index `at`: `bash npm run format · 3 files changed (+12 −4)`, and what is
 * not captured, where it is told for the first time. Empty for a first one that has everything.
 */
export function filesLines(entries: readonly Entry[], at: number): readonly string[] {
  const entry = entries[at] as FilesEntry;
  const changes = filesText(entry);
  const calls = changes === null ? [] : callsBehind(entries, at);
  const line = calls.length === 0 ? changes : `${callsText(calls)} · ${changes ?? ''}`;
  const before = entries[lastIndexBefore(entries, at, isFiles)] as FilesEntry | undefined;
  const left = describeLeftOut(entry);
  const isNew = left !== null && (before === undefined || describeLeftOut(before) !== left);
  return [...(line === null ? [] : [line]), ...(isNew ? [left] : [])];
}

const isFiles = (entry: Entry): entry is FilesEntry => entry.kind === 'files';

/** Says how much is not captured; null where everything is. */
function describeLeftOut({ roots }: FilesEntry): string | null {
  const left = roots.flatMap(({ leftOut }) => leftOut ?? []);
  const [first] = left;
  if (!first) return null;
  const count = left.reduce((sum, { count: more }) => sum + more, 0);
  return `${formatCount(count, 'file')} not captured; ${oneLine(first.first, 200)}`;
}
