// Formats the changes of files that going back to an earlier point makes.
import { oneLine, type Paint } from '../../client/paint.ts';
import { markRows } from '../../client/render/width.ts';
import type { ChangedFile } from '../../client/sessions/files/diff-session.ts';
import { formatCount } from '../../client/units.ts';

export function statText(paint: Paint, files: readonly ChangedFile[]): string {
  if (files.length === 0) return 'nothing has changed\n';
  const sum = (of: (file: ChangedFile) => number | null): number =>
    files.reduce((all, file) => all + (of(file) ?? 0), 0);
  const lines = files.map(({ path, kind, insertions, deletions }) => {
    const counts =
      insertions === null ? 'not text' : `${paint.green(`+${insertions}`)} ${paint.red(`−${deletions ?? 0}`)}`;
    return `${kind === 'changed' ? '' : `${kind} `}${oneLine(path, 300)}  ${counts}`;
  });
  const all = `${formatCount(files.length, 'file')} changed (+${sum(({ insertions }) => insertions)} −${sum(({ deletions }) => deletions)})`;
  return [...lines, all]
    .flatMap((line) => markRows(paint.columns(), line))
    .map((line) => `${line}\n`)
    .join('');
}
