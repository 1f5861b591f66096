// Predicts what a snip of entries hides, by the rules that make the model's view (L7, L59).
import type { Entry } from '../../store/log/entries.ts';
import { inView, isShown } from '../../store/view/in-view.ts';
import { noticeForModel } from '../../store/view/notices.ts';

export type SnipEffect =
  /** Hidden from the next request on, or already hidden by a snip. */
  | { readonly kind: 'removed' }
  /** Hidden when its trajectory is closed, because its thinking is signed (L59). */
  | { readonly kind: 'later' }
  /** Outcomes disappear only with the reply at this position. */
  | { readonly kind: 'with_reply'; readonly reply: number }
  /** Something else hides the entry or replaces it. */
  | { readonly kind: 'out_of_sight' }
  /** A snip cannot hide the entry. */
  | { readonly kind: 'never' };

/**
 * Returns the effect on the entry at each position of `named` when they are snipped together.
 * Positions beyond the entries are `never`.
 */
export function snipEffects(entries: readonly Entry[], named: readonly number[]): readonly SnipEffect[] {
  const { shown, marks } = inView(entries);
  const before = new Set(shown.flatMap((each) => (each.kind === 'entry' ? [each.position] : [])));
  const left = inView([...entries, { kind: 'snip', entries: named }]).shown;
  const after = new Set(left.flatMap((each) => (each.kind === 'entry' ? [each.position] : [])));
  return named.map((position) => {
    const entry = entries[position];
    if (entry === undefined || !isForModel(entry)) return { kind: 'never' };
    if (!before.has(position)) return { kind: marks.snipped.has(position) ? 'removed' : 'out_of_sight' };
    if (!after.has(position)) return { kind: 'removed' };
    if (entry.kind !== 'outcomes') return { kind: 'later' };
    const reply = entries.slice(0, position).findLastIndex(({ kind }) => kind === 'reply');
    return named.includes(reply) ? { kind: 'later' } : { kind: 'with_reply', reply };
  });
}

function isForModel(entry: Entry): boolean {
  return isShown(entry) && (entry.kind !== 'notice' || noticeForModel(entry.notice) !== null);
}
