// The value that stands for an unreadable payload. Payloads are decoded before any handler runs, so
// an error would fail the workflow task on every try; handlers skip this value instead.

const MARK = 'perdure:undecodable';

export type Undecodable = {
  /** The end of a sentence that begins with the subject: `is broken JSON`. */
  readonly why: string;
  /** Another worker may be able to read it: this one lacks the key. */
  readonly elsewhere: boolean;
};

export function markUndecodable(what: Undecodable): object {
  return { [MARK]: what };
}

/** Returns null for every value that was read. */
export function findUndecodable(value: unknown): Undecodable | null {
  if (typeof value !== 'object' || value === null || !(MARK in value)) return null;
  const { why, elsewhere } = (value[MARK] ?? {}) as Partial<Record<keyof Undecodable, unknown>>;
  return { why: typeof why === 'string' ? why : 'cannot be read', elsewhere: elsewhere === true };
}
