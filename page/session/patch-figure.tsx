// Shows a patch of one file, as `git diff` prints it.
import { formatCount } from '../../client/units.ts';
import { SHOWN } from '../../client/render/diff-rows.ts';
import { showUnseen } from '../../system/text.ts';
import { languageOf } from '../text/code-tokens.ts';
import { Tokens } from '../text/markdown-view.tsx';

const CLASSES: Readonly<Record<string, string>> = { '+': 'add', '-': 'del', '@': 'at' };

export function PatchFigure({ path, patch }: { readonly path: string; readonly patch: string }) {
  const from = patch.search(/^@@ /m);
  if (from < 0) return <p class="quiet">{describeBare(patch)}</p>;
  const hunks = patch.slice(from);
  const rows = hunks.slice(0, SHOWN).replace(/\n$/, '').split('\n');
  const language = languageOf(path);
  return (
    <figure class="diff">
      <pre tabindex={0} aria-label="Changes in all">
        {rows.map((row) => (
          <span class={CLASSES[row[0] ?? ''] ?? 'same'}>
            {row.startsWith('@@') || row.startsWith('\\') ? (
              showUnseen(row)
            ) : (
              <>
                {`${row[0] ?? ' '} `}
                <Tokens language={language} text={row.slice(1)} />
              </>
            )}
            {'\n'}
          </span>
        ))}
      </pre>
      {hunks.length > SHOWN ? (
        <p class="links">{`${formatCount(hunks.length - SHOWN, 'more character')}: copy the patch`}</p>
      ) : null}
    </figure>
  );
}

/** Says what a patch without lines does. */
function describeBare(patch: string): string {
  if (/^(GIT binary patch|Binary files )/m.test(patch)) return 'It is not text.';
  if (/^new file mode/m.test(patch)) return 'An empty file.';
  return /^old mode/m.test(patch) ? 'Its mode alone has changed.' : 'No lines have changed.';
}
