// What the loop says of itself, for people: transitions, notices, endings.
import type { Notice } from '../../workflows/contract/activities.ts';
import type { TransitionReason } from '../../workflows/contract/loop.ts';
import type { RunOutcome } from '../run-outcome.ts';
import { oneLine } from './plain.ts';
import { count, money, shortTime } from './units.ts';

const transitions: Readonly<Record<TransitionReason, string>> = {
  next_turn: 'next turn',
  collapse_drain_retry: 'too long: older parts are collapsed',
  reactive_compact_retry: 'too long: compacted',
  max_output_tokens_escalate: 'the reply was cut: asked again with a higher limit',
  max_output_tokens_recovery: 'the reply was cut: asked to go on',
  stop_hook_blocking: 'a stop hook sends it back',
  token_budget_continuation: 'goes on: there is budget left',
  model_fallback: 'goes on with another model',
  structured_output_retry: 'the answer does not fit its schema: asked again',
};

export function transitionText(reason: TransitionReason): string {
  return reason === 'next_turn' ? transitions.next_turn : `${transitions[reason]} (${reason})`;
}

export function noticeText(notice: Notice): string {
  switch (notice.kind) {
    case 'interrupted':
      return 'interrupted';
    case 'continue':
      return 'asked to go on where it stopped';
    case 'call_cut':
      return 'its last tool call was cut and did not run';
    case 'max_turns_reached':
      return `the limit of ${count(notice.limit, 'turn')} is reached`;
    case 'error':
      return oneLine(notice.text, 2_000);
  }
}

type Ending = Pick<RunOutcome, 'reason' | 'turns' | 'costUsd' | 'durationMs'> & {
  readonly detail?: string | undefined;
};

/** completed · 3 turns · $0.02 · 4.2 s */
export function outcomeText({ reason, detail, turns, costUsd, durationMs }: Ending): string {
  const why = detail === undefined ? reason : `${reason}: ${oneLine(detail, 500)}`;
  return [why, count(turns, 'turn'), money(costUsd), shortTime(durationMs)].join(' · ');
}
