// Parts of the configuration's schema, each with the words for what would be right.
import { z } from 'zod';

export const name = text(200);

/** Not empty; `most` in characters. */
export function text(most: number) {
  const right = `give a text of 1 to ${most} characters`;
  return z.string(right).trim().min(1, right).max(most, right);
}

/** `of`: its unit. */
export function whole(most: number, of?: string) {
  const right = `give a whole number${of === undefined ? '' : ` of ${of}`} from 1 to ${most}`;
  return z.int(right).min(1, right).max(most, right);
}

/** Milliseconds. */
export const upTo = (minutes: number) => whole(minutes * 60_000, 'milliseconds');

const shareRight = 'give a number above 0 and up to 1';
export const share = z.number(shareRight).gt(0, shareRight).max(1, shareRight);

const dollarsRight = 'give a number of US dollars from 0 to 1000000';
export const dollars = z.number(dollarsRight).min(0, dollarsRight).max(1_000_000, dollarsRight);

export const run = z.custom<(...args: never[]) => unknown>((value) => typeof value === 'function', 'give a function');

/** A list whose items have different names. */
export function differentlyNamed<Item extends z.ZodType<{ readonly name: string }>>(item: Item) {
  return z.array(item).superRefine((items, context) => {
    const names = items.map((one) => one.name);
    const twice = names.find((one, at) => names.indexOf(one) !== at);
    if (twice === undefined) return;
    context.addIssue({ code: 'custom', message: `${JSON.stringify(twice)} is in it twice: give each its own name` });
  });
}
