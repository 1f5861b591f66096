// Sets the handlers of a session: for signals, queries and updates.
import type { Session } from '../session/session.ts';
import { handleAsides } from './aside.ts';
import { handleRewindPreviews, handleRewinds } from './rewind.ts';
import { handleSignals } from './signals.ts';
import { handleSteering } from './steer.ts';
import { defineQuery, setHandler } from '@temporalio/workflow';
import type { ElicitationEnd } from '../contract/people.ts';
import { QUERIES, type SessionView } from '../contract/session.ts';
import { sessionNow, viewOf } from '../session/session-facts.ts';

/** Call it once, as soon as the session is made: it delivers what has arrived already. */
export function listenToClients(session: Session): void {
  session.approvals.listen(() => {
    session.memoWriter.markChanged();
    session.asks.change();
  });
  handleSignals(session);
  handleQueries(session);
  handleAsides(session);
  handleSteering(session);
  handleRewinds(session);
  handleRewindPreviews(session);
}

// Answers the queries of people and their programs. The store holds the truth.
const DESCRIPTIONS: Readonly<Record<keyof typeof QUERIES, string>> = {
  view: 'What the session does now: its phase, run and turn, the messages and approvals that wait, signals that did nothing.',
  elicited: 'How a question of a server ended, by its id.',
};

function handleQueries(session: Session): void {
  const view = (): SessionView => viewOf(session.facts.now, sessionNow(session), session.passedOver.last);
  setHandler(defineQuery<SessionView>(QUERIES.view), view, { description: DESCRIPTIONS.view });
  const ended = (id: unknown): ElicitationEnd => session.elicitations.endOf(id);
  setHandler(defineQuery<ElicitationEnd, [unknown]>(QUERIES.elicited), ended, { description: DESCRIPTIONS.elicited });
}
