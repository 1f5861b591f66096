// After the tools, in the contract's order: stop from outside (L48), fatal outcomes (L34), a hook's stop (L41), limits (L51, L45),
// else the next turn (L46).
import type { Rules, Terminal } from '../contract/loop.ts';
import type { Move, ToolsRan } from './events.ts';
import { budgetGone, turnsGone } from './limits.ts';
import { showError } from './show-error.ts';
import type { RunState } from './state.ts';
import { stopNotice, stopTerminal } from './stop.ts';
import type { Transition } from './transitions.ts';
import { wrapUpDue } from './wrap-up.ts';

export function afterTools(state: RunState, rules: Rules, event: ToolsRan): Move {
  const turns = turnsGone(state, rules);
  if (event.stop) {
    // After an abort the turn limit is only a notice (L45).
    const append = [...stopNotice(event.stop), ...(turns?.append ?? [])];
    return { do: 'end', terminal: stopTerminal('aborted_tools', event.stop, rules), append };
  }
  const fatal = fatalOutcome(state, rules, event);
  if (fatal) return showError(fatal);
  const hook = event.results.find(({ facts }) => facts.stop !== undefined)?.facts.stop;
  if (hook !== undefined) return { do: 'end', terminal: { reason: 'hook_stopped', detail: hook }, append: [] };
  const near = (): Move | null => wrapUpDue(state, rules, { leftMs: event.leftMs, turns: turns !== null });
  return budgetGone(state, rules) ?? near() ?? turns ?? { do: 'go_round', transition: nextTurn(rules, event) };
}

function nextTurn(rules: Rules, { queued: messages, snips }: ToolsRan): Transition {
  return { reason: 'next_turn', messages, snips, summarize: rules.batchSummaries };
}

function fatalOutcome(state: RunState, rules: Rules, event: ToolsRan): (Terminal & { detail: string }) | null {
  for (const { facts } of event.results) if (facts.fatal) return facts.fatal;
  if (!state.failing || state.failing.times < rules.maxSameFailures) return null;
  const failed = event.calls.find((call) => call.signature === state.failing?.signature);
  const detail = `The same call of ${failed?.name ?? 'a tool'} with the same input failed ${state.failing.times} times in a row.`;
  return { reason: 'fatal_tool_error', detail };
}
