// After a reply without calls, in the contract's order: structured output (L53), stop hooks (L30), token budget (L31), completed (L32).
import type { StopHooksRan } from '../contract/activities.ts';
import type { Rules } from '../contract/loop.ts';
import type { Move } from './events.ts';
import { showError } from './show-error.ts';
import type { RunState } from './state.ts';

/** Less output than this since the last continuation is no progress (L31). */
const SMALL_DELTA = 500;
const ENOUGH_OF_BUDGET = 0.9;
const SMALL_DELTAS_AFTER = 3;

export function finalReply(state: RunState, rules: Rules, problem: string | undefined): Move {
  if (rules.structured && problem !== undefined) return badOutput(state, rules, problem);
  if (rules.stopHooks) return { do: 'run_stop_hooks', active: state.stopHookActive };
  return afterHooks(state, rules);
}

function badOutput(state: RunState, rules: Rules, problem: string): Move {
  if (state.structuredRetries >= rules.maxStructuredRetries) {
    const times = `${rules.maxStructuredRetries + 1} answers did not satisfy the output schema`;
    return showError({ reason: 'structured_output_failed', detail: `${times}; the last one: ${problem}` });
  }
  const append = [{ kind: 'notice', notice: { kind: 'structured_output', problem } }] as const;
  return { do: 'go_round', transition: { reason: 'structured_output_retry', append } };
}

export function hooksRan(state: RunState, rules: Rules, { verdict }: StopHooksRan): Move {
  switch (verdict.kind) {
    case 'passed':
      return afterHooks(state, rules);
    case 'prevented':
      return { do: 'end', terminal: { reason: 'stop_hook_prevented', detail: verdict.detail }, append: [] };
    case 'blocked': {
      if (state.stopHookRounds >= rules.maxStopHookRounds) {
        return showError({ reason: 'stop_hook_prevented', detail: verdict.text });
      }
      const append = [{ kind: 'notice', notice: { kind: 'stop_hook', text: verdict.text } }] as const;
      return { do: 'go_round', transition: { reason: 'stop_hook_blocking', append } };
    }
  }
}

function afterHooks({ spend, tokenBudget }: RunState, { tokenBudget: budget }: Rules): Move {
  const completed = { do: 'end', terminal: { reason: 'completed' }, append: [] } as const;
  const spent = spend.usage.output;
  if (budget === null || spent >= ENOUGH_OF_BUDGET * budget) return completed;
  const delta = spent - tokenBudget.lastTotal;
  const idle = delta < SMALL_DELTA && tokenBudget.lastDelta < SMALL_DELTA;
  if (tokenBudget.continuations >= SMALL_DELTAS_AFTER && idle) return completed;
  const append = [{ kind: 'notice', notice: { kind: 'token_budget', spent, budget } }] as const;
  return { do: 'go_round', transition: { reason: 'token_budget_continuation', append } };
}
