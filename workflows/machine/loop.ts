// The loop itself: absorb, decide, then perform, go round, or end. All awaits are in `port`: with a
// scripted port the whole loop runs in a test (L54), with activities it is the body of the
// workflow.
import type { Append } from '../contract/activities.ts';
import type { Rules, Terminal } from '../contract/loop.ts';
import { absorb } from './absorb.ts';
import { takePrepared } from './compactions.ts';
import { decide } from './decide.ts';
import type { Event, Move, PerformedMove } from './events.ts';
import { beginGrading } from './goals.ts';
import type { HasChange, RunState } from './state.ts';
import { apply, commitCollapses, keepCut } from './transitions.ts';
import { withoutWrapUpRequest, beginWrapUp } from './wrap-up.ts';

export type LoopPort = {
  /**
   * Performs the move and returns what happened. Never throws for what the machine can decide
   * about. Returns no promise when there is nothing to wait for: the SDK takes a stack trace for
   * each promise of a workflow.
   */
  perform(move: PerformedMove, state: RunState): Event | Promise<Event>;
  /**
   * Called between two iterations, once the state is replaced: the messages that were taken leave
   * the queue, and the run may be handed over (L4).
   */
  wentRound(state: RunState, move: Extract<Move, { do: 'go_round' }>): Promise<void> | null;
  /** Tells whether the run's history has a patch (`patched`). Absent: it has all of them. */
  readonly has?: HasChange;
};

export type LoopEnd = { readonly state: RunState; readonly terminal: Terminal; readonly append: readonly Append[] };

/**
 * Runs the loop to its end. `rulesNow` returns the rules as they are, for limits may be raised
 * while the run goes on. `resume`: a move that was begun before a handover, performed again first.
 */
export async function runLoop(
  initial: RunState,
  rulesNow: () => Rules,
  port: LoopPort,
  resume?: PerformedMove,
): Promise<LoopEnd> {
  let state = initial;
  let event: Event = resume ? await port.perform(resume, state) : { kind: 'ready' };
  for (;;) {
    const rules = rulesNow();
    state = absorb(state, rules, event, port.has);
    const move = decide(state, rules, event, port.has);
    switch (move.do) {
      case 'end':
        return { state: stateAtEnd(state, move), terminal: move.terminal, append: move.append };
      case 'go_round': {
        state = apply(state, move.transition, port.has);
        const handover = port.wentRound(state, move);
        if (handover) await handover;
        event = { kind: 'ready' };
        break;
      }
      case 'commit_collapses':
        state = commitCollapses(state, move.count);
        event = { kind: 'ready' };
        break;
      case 'take_prepared':
        state = takePrepared(state, rules);
        event = { kind: 'ready' };
        break;
      case 'lower_cap':
        state = { ...state, maxOutput: move.maxOutput };
        event = { kind: 'ready' };
        break;
      case 'begin_grading':
        state = beginGrading(state);
        event = { kind: 'ready' };
        break;
      case 'wrap_up':
        state = beginWrapUp(state, rules, move.limit);
        event = { kind: 'ready' };
        break;
      default: {
        const performed = port.perform(move, state);
        event = 'kind' in performed ? performed : await performed;
      }
    }
  }
}

function stateAtEnd(state: RunState, move: Extract<Move, { do: 'end' }>): RunState {
  return move.keep ? keepCut(state, move.keep) : { ...state, pending: withoutWrapUpRequest(state.pending) };
}
