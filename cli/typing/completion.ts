// Offers what may stand at the cursor while a text is typed, as a list below it. Pure.
import { displayWidth, truncateToWidth } from '../../client/faces/basics.ts';
import type { Editor } from './line-editor.ts';

export type CompletionItem = {
  /** Replaces what was typed from `from` on. */
  readonly insert: string;
  readonly label: string;
  readonly about: string;
};

export type Completions = {
  /** Position in the text at which the completed word begins. */
  readonly from: number;
  readonly items: readonly CompletionItem[];
};

/** Completions for the text before the cursor; null where there is nothing to complete. */
export type Complete = (before: string) => Promise<Completions | null>;

/** `at` is the marked item. */
export type OfferedCompletions = Completions & { readonly at: number };

const MOST_ROWS = 8;

export function moveOffer(offered: OfferedCompletions, by: number): OfferedCompletions {
  const { at, items } = offered;
  return { ...offered, at: (at + items.length + by) % items.length };
}

/** Puts the marked item into the text. */
export function acceptOffer(editor: Editor, { from, items, at }: OfferedCompletions): Editor {
  const insert = items[at]?.insert ?? '';
  const { text, cursor } = editor;
  return { ...editor, text: text.slice(0, from) + insert + text.slice(cursor), cursor: from + insert.length };
}

type OfferLook = {
  readonly columns: number;
  readonly style: (text: string) => string;
  readonly dim: (text: string) => string;
};

export function offerRows({ items, at }: OfferedCompletions, { columns, style, dim }: OfferLook): readonly string[] {
  const first = Math.max(0, Math.min(at - MOST_ROWS + 1, items.length - MOST_ROWS));
  const visible = items.slice(first, first + MOST_ROWS);
  const width = Math.min(Math.max(...visible.map(({ label }) => displayWidth(label))), Math.floor(columns * 0.6));
  const rows = visible.map(({ label, about }, index) => {
    const isMarked = first + index === at;
    const name = truncateToWidth(label, width);
    const pad = ' '.repeat(Math.max(0, width - displayWidth(name)));
    const row = truncateToWidth(`${isMarked ? '▸' : ' '} ${name}${pad}  ${about}`.trimEnd(), columns - 1);
    return isMarked ? style(row) : dim(row);
  });
  const left = items.length - visible.length;
  return left > 0 ? [...rows, dim(`  … ${left} more`)] : rows;
}
