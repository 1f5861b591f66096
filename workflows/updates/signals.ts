// Handles the signals of a session. Any Temporal client can send one, and a signal has no answer:
// one that makes no sense does nothing, and the view says why.
import { defineSignal, patched, setDefaultSignalHandler, setHandler } from '@temporalio/workflow';
import { DELEGATED_SIGNAL } from '../contract/delegation.ts';
import { findUndecodable } from '../contract/undecodable.ts';
import { ELICIT_SIGNAL } from '../contract/people.ts';
import { SIGNALS, type UserMessage } from '../contract/session.ts';
import { isSignalOnce, isSnip, messageProblem } from '../session/inbox.ts';
import type { Session } from '../session/session.ts';

/** Temporal's clients show these. */
const DESCRIPTIONS: Readonly<Record<keyof typeof SIGNALS, string>> = {
  message: 'A prompt: {"id": "m-1", "body": {"kind": "text", "text": "…"}}. With "now": true it interrupts what runs.',
  interrupt: 'Ends the run under way. Takes nothing; with {"signal": "interrupt", "id": "…"} it counts once.',
  resume: 'Ends a parking early. Takes nothing; with {"signal": "resume", "id": "…"} it counts once.',
  snip: 'Leaves entries of the transcript out of what the model is sent: {"entries": [12]}.',
  cancel:
    'Says who is about to cancel: {"signal": "cancel", "id": "…", "by": "…"}. The cancellation itself is a request of Temporal’s.',
};

export function handleSignals(session: Session): void {
  const receive = (signal: string, value: unknown): void => {
    session.signals += 1;
    const why = receiveSignal(session, signal, value);
    if (why !== undefined) session.passedOver.note({ signal: signal.slice(0, LONGEST_SIGNAL), why });
  };
  // The default handler comes first: with a handler for each name alone, signals that have arrived
  // together would be delivered by name instead of in order.
  setDefaultSignalHandler(receive);
  for (const name of Object.values(SIGNALS))
    setHandler(defineSignal<[unknown]>(name), (value) => receive(name, value), { description: DESCRIPTIONS[name] });
}

/** Characters of a signal's name in the view. */
const LONGEST_SIGNAL = 60;

/**
 * A stop needs no seal and no form: anyone who reaches the server can end the session anyway, and
 * Temporal's own clients send no payload. Only a repeat of a sealed one is refused.
 */
function isFormless({ input }: Session, name: string, value: unknown): boolean {
  if (value === undefined && input.sealed === undefined) return true;
  return name === SIGNALS.interrupt && patched('perdure-plain-interrupt');
}

/** Returns a sentence that says why the signal did nothing; undefined where it did something. */
function receiveSignal(session: Session, name: string, value: unknown): string | undefined {
  const { steered, delegations } = session;
  if (name === SIGNALS.interrupt || name === SIGNALS.resume) {
    if (isSignalOnce(value, name)) {
      if (!session.inbox.isNew(`${name} ${value.id}`)) return undefined;
    } else if (!isFormless(session, name, value)) return describeWrong(value, formOf(name));
    const changes = name === SIGNALS.interrupt ? session.stop('interrupt') : session.endWaits();
    if (changes) steered.note({ action: name }, value);
  } else if (name === SIGNALS.cancel) {
    if (!isSignalOnce(value, name)) return describeWrong(value, formOf(name));
    steered.announceCancel(value);
  } else if (name === SIGNALS.snip) {
    if (!isSnip(value)) return describeWrong(value, '`entries` is no list of positions');
    session.facts.addSnips(value.entries);
    steered.note({ action: name }, value);
  } else if (name === DELEGATED_SIGNAL) {
    delegations.report(value);
    session.billLate();
    session.pauses.hear(value);
    if (delegations.agents.asks.hear(value)) session.memoWriter.markChanged();
  } else if (name === ELICIT_SIGNAL) session.elicitations.hear(value);
  else if (name !== SIGNALS.message) return `there is no such signal: there are ${Object.values(SIGNALS).join(', ')}`;
  else {
    const problem = messageProblem(value);
    if (problem !== undefined) return describeWrong(value, problem);
    session.receiveMessage(value as UserMessage);
  }
  return undefined;
}

function formOf(name: string): string {
  return `it is not {"signal": "${name}", "id": "…"}`;
}

/** Says so when a codec could not read the value; otherwise returns the problem. */
function describeWrong(value: unknown, problem: string): string {
  const unread = findUndecodable(value);
  return unread ? `what was sent ${unread.why}` : problem;
}
