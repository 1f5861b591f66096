// Formats the changes of files that going back to an earlier point makes, and all else it would do.
import type { Paint, RewoundFile, RewindResult } from '../../client/faces/types.ts';
import { markRows, formatCount } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { conversationText, markUnnamed, notLookedText, warningLists } from '../../client/faces/turns.ts';

/** `most` bounds the lines; `more` files are not in the list. */
type StatOptions = { readonly most?: number; readonly more?: number; readonly hint?: string };

export function statText(
  paint: Paint,
  files: readonly RewoundFile[],
  { most = files.length, more = 0, hint = '' }: StatOptions = {},
): string {
  if (files.length === 0) return 'nothing has changed\n';
  const sum = (of: (file: RewoundFile) => number | null): number =>
    files.reduce((all, file) => all + (of(file) ?? 0), 0);
  const lines = files.slice(0, most).map((file) => {
    const { path, kind, insertions, deletions } = file;
    const counts =
      insertions === null ? 'not text' : `${paint.green(`+${insertions}`)} ${paint.red(`−${deletions ?? 0}`)}`;
    return `${kind === 'changed' ? '' : `${kind} `}${oneLine(path, 300)}  ${counts}${markUnnamed(file)}`;
  });
  const left = files.length - lines.length + more;
  const rest = left > 0 ? [`and ${left.toLocaleString('en')} more${hint}`] : [];
  const all = `${formatCount(files.length + more, 'file')} changed (+${sum(({ insertions }) => insertions)} −${sum(({ deletions }) => deletions)})`;
  return rowsOf(paint, [...lines, ...rest, all]);
}

const rowsOf = (paint: Paint, lines: readonly string[]): string =>
  lines
    .flatMap((line) => markRows(paint.columns(), line))
    .map((line) => `${line}\n`)
    .join('');

/** Most lines of a list, unless all are asked for. */
const MOST = 20;
const HINT = '; --json or --all shows them';

export function planText(paint: Paint, plan: RewindResult, showsAll: boolean): string {
  const { rewind, files, moreFiles } = plan;
  const most = showsAll ? Number.POSITIVE_INFINITY : MOST;
  const stat =
    files === null
      ? 'the files go back on the machine that has them\n'
      : rewind.files
        ? statText(paint, files, { most, more: moreFiles, ...(showsAll ? {} : { hint: HINT }) })
        : '';
  const lists = warningLists(plan).flatMap(({ heading, lines }) => {
    const left = Math.max(0, lines.length - most);
    return [heading, ...lines.slice(0, most).map((line) => `  ${line}`), ...(left > 0 ? [`  and ${left} more`] : [])];
  });
  const words = [conversationText(plan), notLookedText(plan)].filter((line) => line !== null);
  return `${rowsOf(paint, words)}${stat}${rowsOf(paint, lists)}`;
}
