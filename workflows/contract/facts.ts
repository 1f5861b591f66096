// The numbers and labels by which lists tell sessions apart.

/** The numbers of a session as lists show them: over all its runs, at its last change of phase or handover. */
export type SessionFacts = {
  /** The model asked last; absent before the first run has opened, unless the caller chose one. */
  readonly model?: string;
  readonly turns: number;
  /** Of all kinds. */
  readonly tokens: number;
  /** US cents; null when a price is not known. */
  readonly cents: number | null;
  /** Milliseconds since the epoch: the oldest call that waits for a decision has waited since then. */
  readonly waitingSince?: number;
  readonly tags?: Tags;
};

/** By name. Any of them may be seen by whoever reads the server. */
export type Tags = Readonly<Record<string, string>>;

const MOST_TAGS = 20;
const LONGEST_TAG = 100;

/** A sentence that says what is wrong with them, or undefined. */
export function tagsProblem(tags: unknown): string | undefined {
  if (tags === undefined) return undefined;
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags))
    return 'the tags are not an object: give names and values such as {"team": "web"}';
  const given = Object.entries(tags as Readonly<Record<string, unknown>>);
  if (given.length > MOST_TAGS) return `${given.length} tags are given: give at most ${MOST_TAGS}`;
  for (const [name, value] of given) {
    const shown = JSON.stringify(name.slice(0, 60));
    if (!/^[A-Za-z0-9][A-Za-z0-9._/-]{0,59}$/.test(name))
      return `tag ${shown} is no name: use letters, digits, "-", "_", "/" and ".", begin with a letter or digit, at most 60`;
    if (typeof value !== 'string' || value === '' || value.length > LONGEST_TAG || /\p{C}/u.test(value))
      return `tag ${shown} has no value that will do: give 1 to ${LONGEST_TAG} characters on one line`;
  }
  return undefined;
}
