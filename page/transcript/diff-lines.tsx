// Draws the lines of a diff, coloured as what they are.
import type { DiffRow } from '../../client/faces/types.ts';
import { showUnseen } from '../../system/text.ts';
import { languageOf } from '../text/code-tokens.ts';
import { Tokens } from '../text/markdown-view.tsx';

/** A line of the file, or one that git writes between them. */
export type PatchLine = DiffRow | { readonly mark: '@'; readonly text: string };

const CLASSES = { '+': 'add', '-': 'del', ' ': 'same', '@': 'at' } as const;

type DiffLinesProps = { readonly path: string; readonly lines: readonly PatchLine[]; readonly label: string };

export function DiffLines({ path, lines, label }: DiffLinesProps) {
  const language = languageOf(path);
  return (
    <pre tabindex={0} aria-label={label}>
      {lines.map(({ mark, text }) => (
        <span class={CLASSES[mark]}>
          {mark === '@' ? (
            showUnseen(text)
          ) : (
            <>
              {`${mark} `}
              <Tokens language={language} text={text} />
            </>
          )}
          {'\n'}
        </span>
      ))}
    </pre>
  );
}
