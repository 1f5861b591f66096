// What somebody said, as text with whatever is unseen in it named; what opens to a text; the images of a prompt.
import { showUnseen } from '../../../activities/text.ts';
import type { MessageImage } from '../../../workflows/contract/people.ts';
import { count } from '../../units.ts';
import { SHOWN } from '../../render/diff-rows.ts';

export function Said({
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
      <pre class={`said ${who}`} {...(id === undefined ? {} : { id })}>
        {showUnseen(text.slice(0, SHOWN))}
      </pre>
      {text.length > SHOWN && whole !== undefined ? (
        <p class="links">
          <a href={whole}>{`All of it, ${count(text.length, 'character')}`}</a>
        </p>
      ) : null}
    </>
  );
}

/** A line that opens to the text behind it. */
export function Folded({
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

/** As they were sent, in a bounded place; their bytes come when they are scrolled to. */
export function Images({ images, path }: { readonly images: readonly MessageImage[]; readonly path: string }) {
  if (images.length === 0) return null;
  return (
    <div class="images">
      {images.map(({ mediaType, bytes }, index) => (
        <a href={`${path}/${index}`}>
          <img
            src={`${path}/${index}`}
            loading="lazy"
            alt={`Image ${index + 1}, ${mediaType}, ${bytes.toLocaleString('en')} bytes`}
          />
        </a>
      ))}
    </div>
  );
}
