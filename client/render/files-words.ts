// Says what a capture of files has found changed, and by which calls (T5); and in words what going
// back would do, the same on all faces (T6–T8).
import { type FilesEntry, filesText } from '../../store/snapshots/files-entry.ts';
import { lastIndexBefore, type WrittenCall } from '../../store/snapshots/snapshot-points.ts';
import type { Entry } from '../../store/log/entries.ts';
import { callsBehind, type RemainingEffect } from '../sessions/files/calls-behind.ts';
import { oneLine, truncateWithCount } from '../paint.ts';
import { formatCount } from '../units.ts';
import { inputFields } from './tool-lines.ts';
import type { RewoundFile } from '../sessions/files/look-at-files.ts';
import type { RewindResult } from '../sessions/files/rewind-session.ts';

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

export const NOT_NAMED = 'not named by any call';
const LONGEST = 300;

/** A heading, and the lines under it. */
type RewindList = { readonly heading: string; readonly lines: readonly string[] };

/** Says where the conversation goes; null where it stays. */
export function conversationText(plan: Pick<RewindResult, 'rewind' | 'prompt' | 'position' | 'turns'>): string | null {
  const { rewind, prompt, position, turns } = plan;
  if (rewind.to === undefined) return null;
  const before = prompt === null ? `entry ${position}` : `the prompt ${JSON.stringify(oneLine(prompt, 80))}`;
  const where = rewind.to === null ? `to its beginning, before ${before}` : `before ${before}`;
  return `the conversation goes back ${where}: ${formatCount(turns, 'turn')} left behind`;
}

/** Lists what a person must know besides: what stops it, what stays, and who has files open. */
export function warningLists(plan: RewindResult): readonly RewindList[] {
  const { problems, untaken, inUse, effects } = plan;
  const more = untaken.count - untaken.first.length;
  const lists: readonly RewindList[] = [
    { heading: 'this would stop it:', lines: problems },
    {
      heading: 'not taken back:',
      lines: [...untaken.first.map(untakenText), ...(more > 0 ? [`and ${more.toLocaleString('en')} more`] : [])],
    },
    { heading: 'in use:', lines: inUse },
    {
      heading: 'may have done more than change files:',
      lines: effects.filter(({ filesGoBack }) => filesGoBack).map(effectText),
    },
    { heading: 'this stays done:', lines: effects.filter(({ filesGoBack }) => !filesGoBack).map(effectText) },
  ];
  return lists
    .filter(({ lines }) => lines.length > 0)
    .map(({ heading, lines }) => ({ heading, lines: lines.map((line) => oneLine(line, LONGEST)) }));
}

/** Names a file that stays, as in `big.bin: it was not captured then`. */
const untakenText = ({ path, why }: { readonly path: string; readonly why: string }): string => `${path}: ${why}`;

/** Says why no worker has looked at the folders; null when one has. */
export function notLookedText({ notLooked }: Pick<RewindResult, 'notLooked'>): string | null {
  return notLooked === null ? null : `as far as snapshots tell, for nobody looked at the folder: ${notLooked}`;
}

/** The number of files that differ, listed or not; null if unknown. */
export const countFiles = ({ files, moreFiles }: Pick<RewindResult, 'files' | 'moreFiles'>): number | null =>
  files && files.length + moreFiles;

export const markUnnamed = ({ unnamed }: RewoundFile): string => (unnamed ? `  ${NOT_NAMED}` : '');

// Describes, in one line, a call whose effect stays when its session goes back.
export function effectText({ name, input, outcome }: RemainingEffect): string {
  const { command, path } = (input ?? {}) as { readonly command?: unknown; readonly path?: unknown };
  const words = [command, path].find((word) => typeof word === 'string') ?? JSON.stringify(input);
  return `${oneLine(`${name} ${words}`, 160)}${outcome === 'ok' ? '' : ` (${outcome})`}`;
}
