// Sets the handlers of a session: for signals, queries and updates.
import type { Session } from '../session/session.ts';
import { handleMoves } from './move.ts';
import { handleRewindPreviews, handleRewinds } from './rewind.ts';
import { handleSignals } from './signals.ts';
import { handleSteering } from './steer.ts';
import { ApplicationFailure, defineQuery, defineUpdate, setHandler } from '@temporalio/workflow';
import type { ElicitationEnd } from '../contract/people.ts';
import { QUERIES, type SessionView, UPDATES } from '../contract/session.ts';
import { sessionNow, viewOf } from '../session/session-facts.ts';
import type { AnswerAside } from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import { type AsideAnswer, asideProblem, type AskAside, MOST_ASIDES } from '../contract/aside.ts';
import { type Signature, unwrapRequest, type UpdateOnce } from '../contract/steered.ts';
import { asideTerms } from '../machine/step-inputs.ts';
import { refuse } from './approvals.ts';
import { UPDATE_DESCRIPTIONS } from './descriptions.ts';

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
  handleMoves(session);
}

// Answers the queries of people and their programs. The store holds the truth.
const DESCRIPTIONS: Readonly<Record<keyof typeof QUERIES, string>> = {
  view: 'What the session does now: its phase, run and turn, the messages and approvals that wait, signals that did nothing.',
  elicited: 'How a question of a server ended, by its id.',
};

function handleQueries(session: Session): void {
  const view = (): SessionView => viewOf(session.facts.now, sessionNow(session), session.passedOver.last);
  setHandler(defineQuery<SessionView>(QUERIES.view), view, { description: DESCRIPTIONS.view });
  const endOf = (id: unknown): ElicitationEnd => session.elicitations.endOf(id);
  setHandler(defineQuery<ElicitationEnd, [unknown]>(QUERIES.elicited), endOf, { description: DESCRIPTIONS.elicited });
}

// Answers questions that people ask aside: an activity answers each while the session goes on, and
// stores nothing. It is an update, so that the person gets the answer, or a sentence that says why
// not.
function handleAsides(session: Session): void {
  const { sideWork, steered, facts } = session;
  let open = 0;
  const headNow = (): Hash | null => session.granting?.state.head ?? facts.now.head;
  const problem = (request: AskAside | UpdateOnce<AskAside>): string | undefined => {
    if (steered.isClosing) return 'the session is closing: nobody answers in it any more';
    const wrong = steered.once.problem(UPDATES.aside, request) ?? asideProblem(questionIn(request));
    if (wrong !== undefined) return wrong;
    if (headNow() === null && !session.openModelCall) return 'the model has not answered yet: ask again when it has';
    if (open < MOST_ASIDES) return undefined;
    return `${open} questions are being answered aside already: wait for one of the answers`;
  };
  const answer = async (request: AskAside | UpdateOnce<AskAside>): Promise<AsideAnswer> => {
    steered.once.note(request);
    open += 1;
    try {
      const input = { ...termsOf(session), head: headNow(), question: questionIn(request) as string };
      const isRunning = (): boolean => session.granting !== null && !session.isFinishing;
      const end = await sideWork.answerAside({ ...input, step: facts.nextStep() }, isRunning);
      if (end.kind === 'failed') throw ApplicationFailure.nonRetryable(`not answered: ${end.detail}`, 'NotAnswered');
      const { text, cut, model, spend } = end;
      return { text, cut, model, usage: spend.usage, usd: spend.usd };
    } finally {
      open -= 1;
    }
  };
  const validator = (request: AskAside | UpdateOnce<AskAside>, _by?: Signature): void => refuse(problem(request));
  const update = defineUpdate<AsideAnswer, [AskAside | UpdateOnce<AskAside>, Signature?]>(UPDATES.aside);
  setHandler(update, answer, { validator, description: UPDATE_DESCRIPTIONS.aside });
}

/** Anyone may have sent it, so its type is unknown. */
function questionIn(request: AskAside | UpdateOnce<AskAside>): unknown {
  return (unwrapRequest(request) as Partial<AskAside> | null | undefined)?.question;
}

/** `said` adds the prompts that the run has taken: they are stored only with the reply to them. */
function termsOf({ granting, openModelCall: call }: Session): Omit<AnswerAside, 'head' | 'question' | 'step'> {
  if (!granting) return { said: [], iteration: 0 };
  const { state, snapshot } = granting;
  const prompts = state.pending.filter(({ kind }) => kind === 'user');
  return {
    said: prompts,
    ...(call && { call }),
    config: snapshot.config,
    iteration: state.iteration,
    ...asideTerms(state, snapshot.rules),
  };
}
