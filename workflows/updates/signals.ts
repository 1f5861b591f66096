// What the signals of a session do. Any Temporal client can send one: what is no message of ours is passed over, for nobody could answer it.
import { patched } from '@temporalio/workflow';
import { ELICIT_SIGNAL } from '../contract/people.ts';
import { DELEGATED_SIGNAL } from '../contract/delegation.ts';
import { SIGNALS, type SessionInput, type UserMessage } from '../contract/session.ts';
import type { StopCause } from '../contract/loop.ts';
import type { Pauses } from '../delegated/pauses.ts';
import type { Delegations } from '../delegated/delegations.ts';
import { type Inbox, isMessage, isSignalOnce, isSnip } from '../inbox.ts';
import type { Facts } from '../session-state.ts';
import type { Elicitations } from './elicitations.ts';
import type { SteeredLog } from './steered-log.ts';

/** A session, as its signals see it. */
export type Signalled = {
  readonly input: Pick<SessionInput, 'sealed'>;
  readonly inbox: Pick<Inbox, 'isNew'>;
  readonly facts: Pick<Facts, 'addSnips'>;
  readonly steered: SteeredLog;
  readonly pauses: Pick<Pauses, 'hear'>;
  readonly elicitations: Pick<Elicitations, 'hear'>;
  readonly delegations: Pick<Delegations, 'report' | 'agents'>;
  /** Both are false when they change nothing. */
  stop(cause: StopCause): boolean;
  goOn(): boolean;
  billLate(): void;
  take(sent: UserMessage): void;
  readonly told: { change(): void };
};

/**
 * A stop needs no seal and no form: whoever reaches the server can end the session anyway, and Temporal's own clients know no other. Only one
 * that was sent again is none.
 */
function counts({ input, inbox }: Signalled, name: string, value: unknown): boolean {
  if (isSignalOnce(value, name)) return inbox.isNew(`${name} ${value.id}`);
  if (value === undefined && input.sealed === undefined) return true;
  return name === SIGNALS.interrupt && patched('perdure-plain-interrupt');
}

export function receiveSignal(session: Signalled, name: string, value: unknown): void {
  const { steered, delegations } = session;
  if (name === SIGNALS.interrupt || name === SIGNALS.resume) {
    if (!counts(session, name, value)) return;
    const changes = name === SIGNALS.interrupt ? session.stop('interrupt') : session.goOn();
    if (changes) steered.note({ action: name }, value);
  } else if (name === SIGNALS.cancel && isSignalOnce(value, name)) {
    steered.announceCancel(value);
  } else if (name === SIGNALS.snip && isSnip(value)) {
    session.facts.addSnips(value.entries);
    steered.note({ action: name }, value);
  } else if (name === DELEGATED_SIGNAL) {
    delegations.report(value);
    session.billLate();
    session.pauses.hear(value);
    if (delegations.agents.asks.hear(value)) session.told.change();
  } else if (name === ELICIT_SIGNAL) session.elicitations.hear(value);
  else if (name === SIGNALS.message && isMessage(value)) session.take(value);
}
