// Remembers which attempts are on the screen: an attempt may become void, and then people must be
// told (L16).
import { RecentMap } from '../../system/recent-map.ts';

type Place = { readonly step: number; readonly attempt: number };

export type ShownAttempts = {
  /** `text` is what the model said. */
  add(place: Place, text?: string): void;
  /** Returns whether anything of the attempt was shown. */
  remove(place: Place): boolean;
  /** Returns the text so far of the newest attempt that stands. */
  lastText(): string;
};

/**
 * Number of newest attempts whose texts are kept. All shown attempts are remembered, since any may
 * become void.
 */
const KEPT_ATTEMPTS = 64;

export function trackAttempts(): ShownAttempts {
  const shown = new Set<string>();
  const texts = new RecentMap<string, string>(KEPT_ATTEMPTS);
  const name = ({ step, attempt }: Place): string => `${step}.${attempt}`;
  return {
    add: (place, text = '') => {
      const before = texts.get(name(place)) ?? '';
      shown.add(name(place));
      texts.set(name(place), before + text);
    },
    remove: (place) => {
      texts.delete(name(place));
      return shown.delete(name(place));
    },
    lastText: () => [...texts.values()].findLast((text) => text !== '') ?? '',
  };
}
