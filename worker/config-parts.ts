// Parts of the configuration's schema, and a wrong value said in one sentence with its path.
import { z } from 'zod';

export const name = z.string().trim().min(1).max(200);

/** Milliseconds. */
export const upTo = (minutes: number) =>
  z
    .int()
    .min(1)
    .max(minutes * 60_000);

export const run = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'is no function');

/** A list whose items have different names. */
export function differentlyNamed<Item extends z.ZodType<{ readonly name: string }>>(item: Item) {
  return z.array(item).superRefine((items, context) => {
    const names = items.map((one) => one.name);
    const twice = names.find((one, at) => names.indexOf(one) !== at);
    if (twice !== undefined) context.addIssue({ code: 'custom', message: `has "${twice}" twice` });
  });
}

type Issue = z.core.$ZodIssue;

/** Of the alternatives of a union, the last is the one that is told of: put the one that has keys there. */
export function issueText(issue: Issue | undefined, above: readonly PropertyKey[] = []): string {
  if (issue === undefined) return 'it cannot be used';
  const path = [...above, ...issue.path];
  if (issue.code === 'invalid_union') {
    const told = issue.errors.at(-1)?.[0];
    if (told !== undefined) return issueText(told, path);
  }
  if (issue.code === 'unrecognized_keys') {
    const at = [...path, issue.keys[0] ?? ''].map(String).join('.');
    return `"${at}" is no key of the configuration: remove it or correct its name`;
  }
  const at = path.map(String).join('.');
  return at === '' ? `it is wrong: ${issue.message}` : `"${at}" is wrong: ${issue.message}`;
}
