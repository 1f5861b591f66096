// Answers the queries of people and their programs. The store holds the truth.
import { defineQuery, setHandler } from '@temporalio/workflow';
import type { ElicitationEnd } from '../contract/people.ts';
import { QUERIES, type SessionView } from '../contract/session.ts';
import { sessionNow, viewOf } from '../session/session-facts.ts';
import type { Session } from '../session/session.ts';

const DESCRIPTIONS: Readonly<Record<keyof typeof QUERIES, string>> = {
  view: 'What the session does now: its phase, run and turn, the messages and approvals that wait, signals that did nothing.',
  elicited: 'How a question of a server ended, by its id.',
};

export function handleQueries(session: Session): void {
  const view = (): SessionView => viewOf(session.facts.now, sessionNow(session), session.passedOver.last);
  setHandler(defineQuery<SessionView>(QUERIES.view), view, { description: DESCRIPTIONS.view });
  const ended = (id: unknown): ElicitationEnd => session.elicitations.endOf(id);
  setHandler(defineQuery<ElicitationEnd, [unknown]>(QUERIES.elicited), ended, { description: DESCRIPTIONS.elicited });
}
