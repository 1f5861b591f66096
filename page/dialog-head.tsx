// The head of a form in a dialog: what it is for, and a button that closes it.

/** `id` names the title, by which the dialog is labelled. */
export function DialogHead({ id, title }: { readonly id: string; readonly title: string }) {
  return (
    <header class="row">
      <h2 id={id}>{title}</h2>
      <button type="button" class="plain small far" data-closes>
        Close <kbd>Esc</kbd>
      </button>
    </header>
  );
}
