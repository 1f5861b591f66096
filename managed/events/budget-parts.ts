// Events of a session's budget (G69): a run pauses at it, and ends.
import type { BudgetEntry } from '../../client/faces/types.ts';
import { threadId } from '../ids.ts';
import { type Part, partId, type Projection, type Step } from './parts.ts';
import { idleParts, usageOf, withUnderWay } from './run-end.ts';

export function budgetParts(projection: Projection, entry: BudgetEntry): Step {
  return entry.state === 'reached' ? idleAtBudget(projection, entry) : resumeParts(projection);
}

function idleAtBudget(projection: Projection, { limitUsd, spend, at }: BudgetEntry): Step {
  const stop_reason = { type: 'budget_reached' } as const;
  const underWay = { ...projection.underWay, spend };
  const known = { ...projection, budgetUsd: limitUsd };
  const usage = usageOf(withUnderWay(projection.spending, underWay, at));
  return {
    parts: [threadIdlePart(projection), ...idleParts(known, usage, stop_reason)],
    next: { budgetUsd: limitUsd, isAtBudget: true, underWay },
  };
}

/** Leaves the agent's name empty: the transcript doesn't have it, and `Sessions` fills it in. */
function threadIdlePart(projection: Projection): Part {
  const type = 'session.thread_status_idle';
  const thread = { session_thread_id: threadId(projection.session), agent_name: '' };
  const stop_reason = { type: 'budget_reached' } as const;
  return {
    id: partId(projection, projection.position, 'thread_idle'),
    type,
    make: (about) => ({ ...about, type, ...thread, stop_reason, stop_details: null }),
  };
}

function resumeParts(projection: Projection): Step {
  const type = 'session.status_running';
  const id = partId(projection, projection.position, 'running');
  return { parts: [{ id, type, make: (about) => ({ ...about, type }) }], next: { isAtBudget: false } };
}
