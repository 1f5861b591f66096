// Shows what was said as text with unseen characters named; texts that unfold; the images and
// documents of a prompt.
import { showUnseen } from '../../system/text.ts';
import type { StoredMedium } from '../../client/faces/types.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { SHOWN } from '../../client/faces/words.ts';
import { MarkdownText } from '../text/markdown-view.tsx';

/** Shows what the model said as Markdown. While it streams it is plain text. */
export function MarkdownSaid({ text, whole }: { readonly text: string; readonly whole: string }) {
  return (
    <>
      <div class="said agent prose">
        <MarkdownText text={text.slice(0, SHOWN)} />
      </div>
      {text.length > SHOWN ? (
        <p class="links">
          <a href={whole}>{`All of it, ${formatCount(text.length, 'character')}`}</a>
        </p>
      ) : null}
    </>
  );
}

export function SpokenText({
  who,
  text,
  whole,
  id,
}: {
  readonly who: string;
  readonly text: string;
  readonly whole?: string;
  readonly id?: string;
}) {
  return (
    <>
      <pre class={`said ${who}`} id={id}>
        {showUnseen(text.slice(0, SHOWN))}
      </pre>
      {text.length > SHOWN && whole !== undefined ? (
        <p class="links">
          <a href={whole}>{`All of it, ${formatCount(text.length, 'character')}`}</a>
        </p>
      ) : null}
    </>
  );
}

/** A line that unfolds to the text behind it. */
export function FoldedText({
  line,
  text,
  kind = 'mark',
}: {
  readonly line: string;
  readonly text: string;
  readonly kind?: string;
}) {
  return (
    <details class={kind}>
      <summary>{showUnseen(line)}</summary>
      <pre class="said">{showUnseen(text.slice(0, SHOWN))}</pre>
    </details>
  );
}

/**
 * Shows images, of a prompt or a call, in a bounded place and loads them when they are scrolled to;
 * offers documents, with their size, as downloads.
 */
export function MediaList({ media, path }: { readonly media: readonly StoredMedium[]; readonly path: string }) {
  if (media.length === 0) return null;
  return (
    <div class="row wrap media">
      {media.map((medium, index) => (
        <a href={`${path}/${index}`}>
          {medium.mediaType === 'application/pdf' ? (
            mediumLabel(medium, index)
          ) : (
            <img src={`${path}/${index}`} loading="lazy" alt={mediumLabel(medium, index)} />
          )}
        </a>
      ))}
    </div>
  );
}

function mediumLabel({ mediaType, bytes }: StoredMedium, index: number): string {
  const what = mediaType === 'application/pdf' ? 'Document' : 'Image';
  return `${what} ${index + 1}, ${mediaType}, ${bytes.toLocaleString('en')} bytes`;
}
