// Forks a session, from a prompt or from all that is there (T10): a dialog asks where the fork
// works and what it begins with before a folder is made.
import { showUnseen } from '../../system/text.ts';
import { DialogHead } from '../primitives.tsx';

/** The action on a prompt: the fork has what was before it. */
export function ForkFromHere({ position }: { readonly position: number }) {
  return (
    <button
      type="button"
      class="fork-here"
      data-needs="steer"
      data-opens="fork"
      data-fork-at={String(position)}
      aria-haspopup="dialog"
    >
      Fork from here
    </button>
  );
}

type DialogProps = { readonly path: string; readonly cwd: string };

export function ForkDialog({ path, cwd }: DialogProps) {
  return (
    <dialog id="fork" aria-labelledby="fork-title">
      <form hx-post={`${path}/fork`} hx-target="#said" data-closes-dialog>
        <DialogHead id="fork-title" title="Fork session" />
        <p class="quiet">
          A new session with the conversation <span data-fork-from>up to now</span>. This one stays as it is.
        </p>
        <input type="hidden" name="at" value="" />
        <fieldset class="choice-list">
          <legend>Working folder</legend>
          <label>
            <input type="radio" name="where" value="own" checked />
            New folder, with the files as they were at that point
          </label>
          <label>
            <input type="radio" name="where" value="same" />
            Same folder, with the files as they are now: <code>{showUnseen(cwd)}</code>
          </label>
        </fieldset>
        <label>
          <span>New folder</span>
          <input
            name="folder"
            autocomplete="off"
            spellcheck={false}
            placeholder={`${showUnseen(cwd)}-…, next to this session’s`}
          />
        </label>
        <label>
          <span>First prompt (optional)</span>
          <textarea name="prompt" rows={3} maxlength={100_000} />
        </label>
        <div class="buttons">
          <button class="first">Fork</button>
        </div>
      </form>
    </dialog>
  );
}
