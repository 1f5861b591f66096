// What of each attempt is on the screen: it may become void, and then that has to be said (L16).

type Place = { readonly step: number; readonly attempt: number };

export type ShownAttempts = {
  /** `text`: what the model said. */
  add(place: Place, text?: string): void;
  /** Whether anything of it was shown. */
  remove(place: Place): boolean;
  /** What the newest attempt that stands has said so far. */
  lastText(): string;
};

/** Texts of the newest attempts are kept; that an older one was shown is known of all, for any may become void. */
const KEPT = 64;

export function shownAttempts(): ShownAttempts {
  const shown = new Set<string>();
  const texts = new Map<string, string>();
  const name = ({ step, attempt }: Place): string => `${step}.${attempt}`;
  return {
    add: (place, text = '') => {
      const before = texts.get(name(place)) ?? '';
      shown.add(name(place));
      texts.delete(name(place));
      texts.set(name(place), before + text);
      const [oldest] = texts.keys();
      if (texts.size > KEPT && oldest !== undefined) texts.delete(oldest);
    },
    remove: (place) => {
      texts.delete(name(place));
      return shown.delete(name(place));
    },
    lastText: () => [...texts.values()].findLast((text) => text !== '') ?? '',
  };
}
