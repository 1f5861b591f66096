// A tool result that microcompaction has shrunk: which are, and what is shown in their place (L8).
import { resultName } from '../tools/preview.ts';
import { entryName } from './entry-name.ts';
import type { Outcome } from './entries.ts';
import { shrunkResult } from './notices.ts';

/** Characters; a shorter result costs no more than its marker. */
const SMALL = 200;

export function isShrunk({ content }: Outcome): boolean {
  return content.length >= SMALL;
}

/** `position` of the entry the outcome is in. */
export function marker({ content, whole }: Outcome, position: number): string {
  const name = whole ? resultName(whole.hash) : entryName({ from: position, to: position + 1 });
  return shrunkResult(whole?.bytes ?? content.length, name);
}

/** Characters that shrinking it frees. */
export function freedBy(outcome: Outcome, position: number): number {
  return isShrunk(outcome) ? Math.max(0, outcome.content.length - marker(outcome, position).length) : 0;
}
