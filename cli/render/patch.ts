// Formats a patch for a terminal.
import type { Paint } from '../../client/faces/types.ts';
import { showUnseen } from '../../system/text.ts';

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
