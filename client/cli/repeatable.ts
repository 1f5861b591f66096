// Options that may be given several times, and taken back with `none`.
import type { OptionChanges } from '../../workflows/contract/session.ts';
import { UsageError } from './errors.ts';

/** As a value it takes back what was given for the session. */
export const NONE = 'none';

export const added = (rule: string, before: readonly string[] = []): readonly string[] => [...before, rule];

/** Beside others it would be a model, or a rule, of that name. Throws UsageError. */
export function isNone(flag: string, list: readonly string[]): boolean {
  if (!list.includes(NONE)) return false;
  if (list.every((item) => item === NONE)) return true;
  throw new UsageError(`${flag} ${NONE} removes all values, but others are given with it: leave one of them out`);
}

/** Replaced all together. Throws UsageError. */
export function tagsOf(given: readonly string[] | undefined): OptionChanges {
  if (given === undefined) return {};
  if (isNone('--tag', given)) return { tags: null };
  const pairs = given.map((tag) => {
    const at = tag.indexOf('=');
    if (at < 1) throw new UsageError(`--tag ${JSON.stringify(tag)} has no value: write name=value`);
    return [tag.slice(0, at), tag.slice(at + 1)] as const;
  });
  return { tags: Object.fromEntries(pairs) };
}
