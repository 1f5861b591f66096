// How a run ended, as the last line of it. The sentence that its reason carries is not said again right after the error that said it.
import type { Entry } from '../../activities/transcript/log/entries.ts';
import type { Notice, RunEnded } from '../../workflows/contract/activities.ts';
import { terminalDetail } from '../sessions/outcome.ts';
import { outcomeText } from './words.ts';

/** `position`: of the entry that `ended` is of. */
export function endingText(entries: readonly Entry[], position: number, ended: RunEnded): string {
  const { terminal, turns, spend, durationMs } = ended;
  const detail = unlessSaid(terminalDetail(terminal), errorBefore(entries, position));
  return outcomeText({ reason: terminal.reason, detail, turns, costUsd: spend.usd, durationMs });
}

/** `error`: what the error notice said that was shown just before, if there was one. */
export function unlessSaid(detail: string | undefined, error: string | null): string | undefined {
  return detail === error ? undefined : detail;
}

/** What an error notice says; null for others. */
export function errorOf(notice: Notice): string | null {
  return notice.kind === 'error' ? notice.text : null;
}

function errorBefore(entries: readonly Entry[], position: number): string | null {
  const before = entries[position - 1];
  return before?.kind === 'notice' ? errorOf(before.notice) : null;
}
