// Options that may be given several times, and taken back with `none`.
import { UsageError } from './errors.ts';

/** Value that takes back what was given for the session. */
export const NONE = 'none';

export const addValue = (rule: string, before: readonly string[] = []): readonly string[] => [...before, rule];

/**
 * Tells whether a list is just `none`. Throws UsageError for `none` among other values, which would
 * name a model or a rule.
 */
export function isNone(flag: string, list: readonly string[]): boolean {
  if (!list.includes(NONE)) return false;
  if (list.every((item) => item === NONE)) return true;
  throw new UsageError(`${flag} ${NONE} removes all values, but others are given with it: leave one of them out`);
}

/** Reads the pairs of a repeatable flag. Throws UsageError for one without a value. */
export function pairsOf(flag: string, values: readonly string[]): Readonly<Record<string, string>> {
  const pairs = values.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`${flag} ${JSON.stringify(pair)} has no value: write name=value`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return Object.fromEntries(pairs);
}
