// Shows a change as two texts next to each other: what is removed on the left, what takes its place
// on the right.
import type { DiffRow, FileChange } from '../../client/face-types.ts';
import { diffRows } from '../../client/render/diff-rows.ts';
import { languageOf } from '../text/code-tokens.ts';
import { Tokens } from '../text/markdown-view.tsx';

/** Null where the text has no line in this place. */
export type SidePair = { readonly before: string | null; readonly after: string | null };

/** Puts added lines next to the removed ones that they follow; others stand on both sides. */
export function pairLines(lines: readonly DiffRow[]): readonly SidePair[] {
  const pairs: SidePair[] = [];
  let open = 0;
  for (const { mark, text } of lines) {
    const place = pairs.length - open;
    const pair = pairs[place];
    if (mark === '+' && open > 0 && pair) {
      pairs[place] = { ...pair, after: text };
      open -= 1;
      continue;
    }
    pairs.push({ before: mark === '+' ? null : text, after: mark === '-' ? null : text });
    open = mark === '-' ? open + 1 : 0;
  }
  return pairs;
}

export function SideBySide({ change: { path, before, after } }: { readonly change: FileChange }) {
  const language = languageOf(path);
  const side = (text: string | null, kind: 'add' | 'del' | undefined) =>
    text === null ? (
      <code class="none" />
    ) : (
      <code class={kind}>
        <Tokens language={language} text={text} />
      </code>
    );
  return (
    <div class="sides" tabindex={0} role="group" aria-label="Changes, side by side">
      {pairLines(diffRows(before, after).lines).map((pair) => {
        const isSame = pair.before === pair.after;
        return (
          <div>
            {side(pair.before, isSame ? undefined : 'del')}
            {side(pair.after, isSame ? undefined : 'add')}
          </div>
        );
      })}
    </div>
  );
}

/** Chooses how changes are shown; only a wide screen has room for the choice. */
export function SidesChoice() {
  return (
    <span class="choice sides-choice" role="group" aria-label="Changes">
      <button type="button" data-sides="no" aria-pressed="true">
        One
      </button>
      <button type="button" data-sides="yes" aria-pressed="false">
        Side by side
      </button>
    </span>
  );
}
