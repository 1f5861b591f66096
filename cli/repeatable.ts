// Options that may be given several times, and taken back with `none`.
import type { OptionChanges } from '../workflows/contract/session.ts';
import { resolve } from 'node:path';
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

/** Reads all tags, which replace the earlier ones together. Throws UsageError. */
export function tagsOf(given: readonly string[] | undefined): OptionChanges {
  if (given === undefined) return {};
  return { tags: isNone('--tag', given) ? null : pairsOf('--tag', given) };
}

/** Reads all variables, which replace the earlier ones together. Throws UsageError. */
export function toolEnvOf(given: readonly string[] | undefined): OptionChanges {
  if (given === undefined) return {};
  return { toolEnv: isNone('--tool-env', given) ? null : pairsOf('--tool-env', given) };
}

/**
 * Reads all folders, which replace the earlier ones together; relative paths begin at `base`.
 * Throws UsageError.
 */
export function foldersOf(given: readonly string[] | undefined, base: () => string): OptionChanges {
  if (given === undefined) return {};
  if (isNone('--add-dir', given)) return { additionalDirectories: null };
  // As with --cwd, an unset variable must not open the current folder.
  if (given.includes('')) throw new UsageError('--add-dir is empty: name a directory');
  return { additionalDirectories: given.map((path) => resolve(base(), path)) };
}

function pairsOf(flag: string, given: readonly string[]): Readonly<Record<string, string>> {
  const pairs = given.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`${flag} ${JSON.stringify(pair)} has no value: write name=value`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

export function fallbacksOf({ fallbackModel }: { readonly fallbackModel?: readonly string[] }): OptionChanges {
  if (fallbackModel === undefined) return {};
  return { fallbackModels: isNone('--fallback-model', fallbackModel) ? null : fallbackModel };
}
