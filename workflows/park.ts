// A run that waits for its provider (L14): a durable timer, no slot held. It ends early by `resume` or a stop.
import { condition, isCancellation } from '@temporalio/workflow';
import { handOver, handoverReady } from './handover.ts';
import type { Event, Move } from './machine/events.ts';
import type { RunState } from './machine/state.ts';
import type { RunBench } from './perform.ts';
import { heldByNothing } from './session-state.ts';

/** The runtime limit stands still meanwhile (L51). */
export async function park(
  bench: RunBench,
  state: RunState,
  { waitMs }: Extract<Move, { do: 'park' }>,
): Promise<Event> {
  const { session, clock } = bench;
  clock.pause();
  const carried = session.run?.parkedUntil ?? null;
  // During a handover a `resume` may have arrived.
  if (carried === null) session.resumed = false;
  const until = carried ?? Date.now() + waitMs;
  if (session.run) session.run.parkedUntil = until;
  session.enter('parked');
  try {
    await session.runScope.run(() => parkedUntil(bench, state, until));
  } catch (error) {
    // What is thrown besides is the handover itself.
    if (!isCancellation(error)) throw error;
  }
  if (session.run) session.run.parkedUntil = null;
  clock.resume();
  session.enter('running');
  return session.stopCause ? { kind: 'stopped', stop: session.stopCause } : { kind: 'ready' };
}

/** Handed over when it is time (L4). */
async function parkedUntil({ session, carried }: RunBench, state: RunState, until: number): Promise<void> {
  const over = (): boolean => session.resumed || session.stopCause !== null;
  while (!over() && until > Date.now()) {
    await condition(() => over() || handoverReady(session), until - Date.now());
    if (!over() && handoverReady(session))
      await handOver(session, carried(state, { ...heldByNothing, parkedUntil: until }));
  }
}
