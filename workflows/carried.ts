// The parts of what a handover carries, each for the part of a session that takes it up again.
import type { Carry, CarriedFacts } from './session-state.ts';

type Parts = Pick<Carry, 'alerts' | 'answered' | 'steered' | 'canceller' | 'once' | 'elicited' | 'pauses'>;

/** `facts`: all that no part has to itself. */
export function partsOf(carry: Carry): Parts & { readonly facts: CarriedFacts } {
  const {
    inbox: _inbox,
    run: _run,
    agents: _agents,
    early: _early,
    givenUp: _givenUp,
    alerts,
    answered,
    steered,
    canceller,
    once,
    elicited,
    pauses,
    ...facts
  } = carry;
  const parts = { alerts, answered, steered, canceller, once, elicited, pauses };
  return { ...(parts as Parts), facts };
}
