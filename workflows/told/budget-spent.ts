// Tells the model of the next prompt that the run before was cut short: nothing else in the
// conversation says so (L51).
import { patched } from '@temporalio/workflow';
import type { Append } from '../contract/activities.ts';
import type { RunSummary } from '../contract/session.ts';

export function budgetSpentNotices(last: Pick<RunSummary, 'terminal'> | null): readonly Append[] {
  const { terminal } = last ?? {};
  if (terminal?.reason !== 'budget_exceeded' || !patched('perdure-budget-spent')) return [];
  const limit = 'limitUsd' in terminal ? 'cost' : 'tokens';
  return [{ kind: 'notice', notice: { kind: 'budget_spent', limit } }];
}
