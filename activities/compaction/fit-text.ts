// Renders a part of the conversation as one text that the small model can read.
import { renderShown } from '../../store/view/render-entries.ts';
import type { BlockItem } from './blocks.ts';
import type { Bodies } from '../../store/log/bodies.ts';

/** Characters that one result, input or text keeps at each step. */
const STEPS = [20_000, 4_000, 1_000, 300];
const GAP = '\n\n';

/**
 * Renders a part of the conversation as one text that the small model can read: at most `limit`
 * characters, shortened oldest first until it fits.
 */
export function fitText(items: readonly BlockItem[], shrunkBefore: number, bodies: Bodies, limit: number): string {
  const render = ({ part, reply }: BlockItem, most: number): string =>
    renderShown(part, reply, bodies, { most, shrunkBefore });
  const texts = items.map((item) => render(item, Infinity));
  let total = texts.reduce((sum, text) => sum + text.length + GAP.length, 0);
  for (const most of STEPS) {
    for (const [at, item] of items.entries()) {
      if (total <= limit) return joinTexts(texts);
      const text = texts[at] as string;
      if (text.length <= most) continue;
      const shorter = render(item, most);
      total += shorter.length - text.length;
      texts[at] = shorter;
    }
  }
  return removeMiddle(joinTexts(texts), limit);
}

function joinTexts(texts: readonly string[]): string {
  return texts.filter((text) => text !== '').join(GAP);
}

function removeMiddle(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const note = '\n\n[… a part of the conversation is left out here …]\n\n';
  const room = Math.max(0, limit - note.length);
  const head = Math.floor(room * 0.3);
  return `${text.slice(0, head)}${note}${text.slice(text.length - (room - head))}`;
}
