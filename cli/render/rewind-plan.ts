// Formats what going back to an earlier point changes and what it leaves done.
import { oneLine, type Paint } from '../../client/paint.ts';
import { markRows } from '../../client/render/width.ts';
import type { ChangedFile } from '../../client/sessions/files/diff-session.ts';
import type { LeftEffect } from '../../client/sessions/files/plan-rewind.ts';
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

export function effectText({ name, input, outcome }: LeftEffect): string {
  const { command } = (input ?? {}) as { readonly command?: unknown };
  const words = typeof command === 'string' ? command : JSON.stringify(input);
  return `${oneLine(`${name} ${words}`, 160)}${outcome === 'ok' ? '' : ` (${outcome})`}`;
}
