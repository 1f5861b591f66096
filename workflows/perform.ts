// Turns the machine's moves into activities and their ends into events. Whether a failure was a stop is judged by the session's
// state, not by the error: a cancelled activity of a dead worker ends as a timeout.
import { ActivityFailure, condition, isCancellation } from '@temporalio/workflow';
import type { CallModel, ModelResult } from './contract/activities.ts';
import { noSpend, type RunSnapshot } from './contract/loop.ts';
import type { Event, Move } from './machine/events.ts';
import type { LoopPort } from './machine/loop.ts';
import type { RunState } from './machine/state.ts';
import { callModel } from './ports.ts';
import type { RunClock } from './run-clock.ts';
import { runTools } from './run-tools.ts';
import type { Session } from './session.ts';
import { storeProblem } from './store-problem.ts';

export function performer(session: Session, { config, rules }: RunSnapshot, clock: RunClock): LoopPort['perform'] {
  return (move, state) => {
    const live = session.run;
    if (live) live.state = state;
    if (session.stopCause && move.do !== 'run_tools') {
      return Promise.resolve<Event>({ kind: 'stopped', stop: session.stopCause });
    }
    switch (move.do) {
      case 'call_model': {
        const cap = state.capOverride ?? rules.outputCap;
        return model(session, modelInput(session, state, config, cap));
      }
      case 'run_tools':
        return runTools(session, state, config, move);
      case 'park':
        return park(session, clock, move);
    }
  };
}

function modelInput(session: Session, state: RunState, config: CallModel['config'], cap: number): CallModel {
  return {
    head: state.head,
    append: state.pending,
    config,
    step: session.nextStep(),
    iteration: state.iteration,
    cap,
    ...(state.supersedes === null ? {} : { supersedes: state.supersedes }),
    ...(state.failures === 0 ? {} : { failures: state.failures }),
  };
}

async function model(session: Session, input: CallModel): Promise<Event> {
  const { step } = input;
  try {
    const result = await session.runScope.run(() => callModel(input));
    return { kind: 'model', result, step, stop: session.stopCause };
  } catch (error) {
    const stop = session.stopCause;
    if (stop && (isCancellation(error) || error instanceof ActivityFailure)) {
      return { kind: 'model', result: { kind: 'nothing', spend: noSpend }, step, stop };
    }
    const detail = storeProblem(error);
    if (detail === null) throw error;
    const result: ModelResult = { kind: 'failed', detail, spend: noSpend };
    return { kind: 'model', result, step, stop };
  }
}

/** A durable timer, no slot held; ended early by `resume` or a stop. The runtime limit stands still meanwhile (L14, L51). */
async function park(session: Session, clock: RunClock, { until }: Extract<Move, { do: 'park' }>): Promise<Event> {
  clock.pause();
  if (session.run) session.run.parkedUntil = until;
  session.resumed = false;
  session.enter('parked');
  try {
    const over = () => session.resumed || session.stopCause !== null;
    await session.runScope.run(() => condition(over, Math.max(1, until - Date.now())));
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  if (session.run) session.run.parkedUntil = null;
  clock.resume();
  session.enter('running');
  return session.stopCause ? { kind: 'stopped', stop: session.stopCause } : { kind: 'ready' };
}
