// The form for a question aside. It is drawn once with the page, so that typed text and the answer
// stay while everything else changes.
import { LONGEST_ASIDE } from '../../workflows/contract/aside.ts';

export function AsideForm({ path }: { readonly path: string }) {
  return (
    <details class="steer" id="aside" data-needs="steer">
      <summary>Ask aside</summary>
      <form hx-post={`${path}/aside`} hx-target="#aside-answer" hx-config={LONG}>
        <label for="question">The model answers from what it knows so far. The conversation isn’t affected.</label>
        <textarea id="question" name="question" rows={2} required maxlength={LONGEST_ASIDE} />
        <button>Ask</button>
      </form>
      <div id="aside-answer" role="status" aria-live="polite" />
    </details>
  );
}

/** Timeout of the request in milliseconds. */
const LONG = JSON.stringify({ timeout: 660_000 });
