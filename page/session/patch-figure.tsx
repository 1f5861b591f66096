// Shows a patch of one file, as `git diff` prints it.
import { formatCount } from '../../client/units.ts';
import { SHOWN } from '../../client/render/diff-rows.ts';
import { type DiffLine, DiffLines } from '../transcript/diff-lines.tsx';

export function PatchFigure({ path, patch }: { readonly path: string; readonly patch: string }) {
  const from = patch.search(/^@@ /m);
  if (from < 0) return <p class="quiet">{describeBare(patch)}</p>;
  const hunks = patch.slice(from);
  const rows = hunks.slice(0, SHOWN).replace(/\n$/, '').split('\n');
  return (
    <figure class="diff">
      <DiffLines path={path} lines={rows.map(patchLine)} label="Changes in all" />
      {hunks.length > SHOWN ? (
        <p class="links">{`${formatCount(hunks.length - SHOWN, 'more character')}: copy the patch`}</p>
      ) : null}
    </figure>
  );
}

function patchLine(row: string): DiffLine {
  if (row.startsWith('@@') || row.startsWith('\\')) return { mark: '@', text: row };
  const mark = row.startsWith('+') ? '+' : row.startsWith('-') ? '-' : ' ';
  return { mark, text: row.slice(1) };
}

/** Says what a patch without lines does. */
function describeBare(patch: string): string {
  if (/^(GIT binary patch|Binary files )/m.test(patch)) return 'It is not UTF-8 text.';
  if (/^new file mode/m.test(patch)) return 'An empty file.';
  return /^old mode/m.test(patch) ? 'Its mode alone has changed.' : 'No lines have changed.';
}
