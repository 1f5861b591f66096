// Small words of answers that several tools share.
import { ToolFailure } from '../../failures.ts';
import { quotePath } from './fs-failures.ts';

/** Prints a file's name in a line of an answer: quoted only when it would break the line. */
export function quoteIfNeeded(name: string): string {
  return /[\p{Cc}\u2028\u2029]/u.test(name) ? quotePath(name) : name;
}

/** Prints a number with its noun: "1 line", "2 lines". */
export function formatAmount(n: number, one: string, many = `${one}s`): string {
  return `${n} ${n === 1 ? one : many}`;
}

/** Refuses a NUL, which ends an argument of a program. Throws ToolFailure. */
export function refuseNul(text: string, what: string): void {
  if (text.includes('\0')) throw new ToolFailure(`${what} holds a NUL character: leave it out.`);
}
