// Formats the changes of files that going back to an earlier point makes, and all else it would do.
// Formats a patch for a terminal.
import { formatCount, markRows } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { conversationText, markUnnamed, notLookedText, warningLists } from '../../client/faces/turns.ts';
import type { Paint, RewindResult, RewoundFile } from '../../client/faces/types.ts';
import { showUnseen } from '../../system/text.ts';

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

/** Colours a patch for a terminal, and leaves out the bytes of files that are no UTF-8 text. */
export function colourPatch(paint: Paint, patch: string): string {
  const lines: string[] = [];
  let isBinary = false;
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('diff --git ')) isBinary = false;
    if (isBinary) continue;
    if (line === 'GIT binary patch') {
      isBinary = true;
      lines.push(paint.dim('(not UTF-8 text)'));
    } else lines.push(colourLine(paint, showUnseen(line)));
  }
  return patch === '' ? 'nothing has changed\n' : `${lines.join('\n')}\n`;
}

function colourLine(paint: Paint, line: string): string {
  if (/^(?:diff|index|---|\+\+\+|old|new|deleted|similarity) /.test(line)) return paint.bold(line);
  if (line.startsWith('@@')) return paint.cyan(line);
  if (line.startsWith('+')) return paint.green(line);
  return line.startsWith('-') ? paint.red(line) : line;
}
