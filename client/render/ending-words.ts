// Words the end of a run as its last line.
import type { Notice, RunEnded } from '../../workflows/contract/activities.ts';
import type { Terminal } from '../../workflows/contract/loop.ts';
import { type RunOutcome, stopText, terminalDetail } from '../sessions/outcome.ts';
import { oneLine } from '../paint.ts';
import { formatCount, formatMoney, shortTime } from '../units.ts';
import type { Entry } from '../../store/log/entries.ts';
import { reasonText } from './words.ts';

type Ending = Pick<RunOutcome, 'reason' | 'turns' | 'costUsd' | 'durationMs'> & {
  readonly detail?: string | undefined;
};

/** Names the end of a run in a few words: what stopped it, or its reason. */
export function endWords(terminal: Terminal): string {
  return stopText(terminal) ?? reasonText(terminal.reason);
}

/** Formats: completed · 3 turns · $0.02 · 4.2 s */
export function outcomeText({ reason, detail, turns, costUsd, durationMs }: Ending): string {
  const ending = reasonText(reason);
  const why = detail === undefined ? ending : `${ending}: ${oneLine(detail, 500)}`;
  return [why, formatCount(turns, 'turn'), formatMoney(costUsd), shortTime(durationMs)].join(' · ');
}

/**
 * Describes the end of a run at `position`. It does not repeat the sentence of an error shown just
 * before.
 */
export function endingText(entries: readonly Entry[], position: number, end: RunEnded): string {
  const { terminal, turns, spend, durationMs } = end;
  const detail = unlessSaid(terminalDetail(terminal), errorBefore(entries, position));
  return outcomeText({ reason: terminal.reason, detail, turns, costUsd: spend.usd, durationMs });
}

/**
 * Drops the detail if the error notice shown just before said the same; `error` is null without
 * one.
 */
export function unlessSaid(detail: string | undefined, error: string | null): string | undefined {
  return detail === error ? undefined : detail;
}

/** Returns the words of an error notice; null for others. */
export function errorOf(notice: Notice): string | null {
  return notice.kind === 'error' ? notice.text : null;
}

function errorBefore(entries: readonly Entry[], position: number): string | null {
  const before = entries[position - 1];
  return before?.kind === 'notice' ? errorOf(before.notice) : null;
}
