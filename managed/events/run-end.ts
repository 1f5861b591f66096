// The events of a run's end (G38, G40): an error where it failed, the usage up to now, and the
// status with its reason.
import type {
  BetaManagedAgentsSessionErrorEvent,
  BetaManagedAgentsSessionStatusIdleEvent,
  BetaManagedAgentsSessionUsageSnapshot,
} from '@anthropic-ai/sdk/resources/beta/sessions';
import { addSpend } from '../../client/faces/contract.ts';
import type { RunEnded, Terminal } from '../../client/faces/types.ts';
import { terminalDetail } from '../../client/faces/words.ts';
import { budgetOfUsd, formatCents } from '../budgets.ts';
import { partId, type Part, type Projection, type Spending } from './parts.ts';

type StopReason = BetaManagedAgentsSessionStatusIdleEvent['stop_reason'];
type ErrorType = 'model_rate_limited_error' | 'model_overloaded_error' | 'billing_error' | 'model_request_failed_error';
type SessionError = BetaManagedAgentsSessionErrorEvent['error'];

/** Returns the cumulative usage; a cost that is not known is left out. */
export function usageOf({ spend: { usage, usd }, ms }: Spending): BetaManagedAgentsSessionUsageSnapshot {
  return {
    input_tokens: usage.input,
    output_tokens: usage.output,
    cache_read_input_tokens: usage.cacheRead,
    cache_creation: { ephemeral_5m_input_tokens: usage.cacheWrite },
    ...(usd !== null && { list_cost: { amount: formatCents(usd), currency: 'USD' as const } }),
    active_seconds: ms / 1000,
  };
}

/** Returns the session's cost and time so far; at its budget, the waiting run counts too. */
export function spentSoFar({ spending, underWay, isAtBudget, time }: Projection): Spending {
  return isAtBudget ? withUnderWay(spending, underWay, time) : spending;
}

export const withUnderWay = ({ spend, ms }: Spending, { at, spend: more }: Projection['underWay'], time: number) => ({
  spend: addSpend(spend, more),
  ms: ms + Math.max(0, time - at),
});

/** The usage comes right before every idle. */
export function idleParts(
  projection: Projection,
  usage: BetaManagedAgentsSessionUsageSnapshot,
  stop_reason: StopReason,
): readonly Part[] {
  const name = (part: string): string => partId(projection, projection.position, part);
  const budget = budgetOfUsd(projection.budgetUsd);
  return [
    {
      id: name('usage'),
      type: 'session.usage',
      make: (about) => ({ ...about, type: 'session.usage', usage, budget }),
    },
    {
      id: name('idle'),
      type: 'session.status_idle',
      make: (about) => ({ ...about, type: 'session.status_idle', stop_reason, stop_details: null }),
    },
  ];
}

export function endParts(
  projection: Projection,
  { terminal }: RunEnded,
  usage: BetaManagedAgentsSessionUsageSnapshot,
): readonly Part[] {
  const name = (part: string): string => partId(projection, projection.position, part);
  const error = errorOf(terminal);
  const stop_reason = stopReason(terminal);
  const parts = idleParts(projection, usage, stop_reason);
  if (error === null) return parts;
  const type = 'session.error';
  return [{ id: name('error'), type, make: (about) => ({ ...about, type, error }) }, ...parts];
}

function stopReason({ reason }: Terminal): StopReason {
  switch (reason) {
    case 'completed':
    case 'goal_not_met':
    case 'aborted_streaming':
    case 'aborted_tools':
      return { type: 'end_turn' };
    default:
      return { type: 'retries_exhausted' };
  }
}

/** A run that a person stopped has no error, nor one whose outcome was graded to its end. */
function errorOf(terminal: Terminal): SessionError | null {
  const message = terminalDetail(terminal) ?? terminal.reason;
  const retry_status = { type: 'exhausted' } as const;
  switch (terminal.reason) {
    case 'completed':
    case 'goal_not_met':
    case 'aborted_streaming':
    case 'aborted_tools':
      return null;
    case 'budget_exceeded':
      return { type: 'billing_error', message, retry_status };
    case 'model_error':
      return { type: modelError(terminal.status), message, retry_status };
    case 'max_turns':
      return { type: 'tool_use_limit_reached_error', message, retry_status };
    default:
      return { type: 'unknown_error', message, retry_status };
  }
}

function modelError(status: number | undefined): ErrorType {
  if (status === 429) return 'model_rate_limited_error';
  if (status === 402) return 'billing_error';
  return status === 529 || status === 503 ? 'model_overloaded_error' : 'model_request_failed_error';
}
