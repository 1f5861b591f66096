// Says in words what going back would do, the same on all faces (T6–T8).
import { oneLine } from '../paint.ts';
import type { RewoundFile } from '../sessions/files/look-at-files.ts';
import type { RewindResult } from '../sessions/files/rewind-session.ts';
import { formatCount } from '../units.ts';
import type { RemainingEffect } from '../sessions/files/left-effects.ts';

export const NOT_NAMED = 'not named by any call';
const LONGEST = 300;

/** A heading, and the lines under it. */
export type RewindList = { readonly heading: string; readonly lines: readonly string[] };

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

/** The number of files that differ, listed or not; null where nobody can tell. */
export const countFiles = ({ files, moreFiles }: Pick<RewindResult, 'files' | 'moreFiles'>): number | null =>
  files && files.length + moreFiles;

export const markUnnamed = ({ unnamed }: RewoundFile): string => (unnamed ? `  ${NOT_NAMED}` : '');

// Describes, in one line, a call whose effect stays when its session goes back.
export function effectText({ name, input, outcome }: RemainingEffect): string {
  const { command, path } = (input ?? {}) as { readonly command?: unknown; readonly path?: unknown };
  const words = [command, path].find((word) => typeof word === 'string') ?? JSON.stringify(input);
  return `${oneLine(`${name} ${words}`, 160)}${outcome === 'ok' ? '' : ` (${outcome})`}`;
}
