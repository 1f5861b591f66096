// Sets the handlers of a session: for signals, queries and updates.
import type { Session } from '../session/session.ts';
import { handleResults } from './outside-results.ts';
import { handleRewindPreviews, handleRewinds } from './rewind.ts';
import { handleSteering } from './steer.ts';
import {
  ApplicationFailure,
  defineQuery,
  defineUpdate,
  setHandler,
  defineSignal,
  patched,
  setDefaultSignalHandler,
  CancellationScope,
} from '@temporalio/workflow';
import { type ElicitationEnd, ELICIT_SIGNAL } from '../contract/people.ts';
import { QUERIES, type SessionView, UPDATES, SIGNALS, type UserMessage } from '../contract/session.ts';
import { sessionNow, viewOf } from '../session/session-facts.ts';
import type { AnswerAside, Decision } from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import { type AsideAnswer, asideProblem, type AskAside, MOST_ASIDES } from '../contract/aside.ts';
import { isRelabel, type Signature, unwrapRequest, type UpdateOnce, isOnce } from '../contract/steered.ts';
import { asideTerms } from '../machine/step-inputs.ts';
import { refuse, UPDATE_DESCRIPTIONS } from './approvals.ts';
import { DELEGATED_SIGNAL } from '../contract/delegation.ts';
import { findUndecodable } from '../contract/undecodable.ts';
import { present } from '../contract/present.ts';
import { isSignalOnce, isSnip, messageProblem } from '../session/inbox.ts';
import type { Moved, MoveRequest } from '../contract/hosts.ts';

/** Call it once, as soon as the session is made: it delivers what has arrived already. */
export function listenToClients(session: Session): void {
  session.approvals.listen(
    () => {
      session.memoWriter.markChanged();
      session.asks.change();
    },
    (approval, decision) => session.waits.settleAsk(approval, describeDecision(decision)),
  );
  handleResults(session);
  handleSignals(session);
  handleQueries(session);
  handleAsides(session);
  handleSteering(session);
  handleRewinds(session);
  handleRewindPreviews(session);
  handleMoves(session);
}

function describeDecision(decision: Decision) {
  const { kind, by } = decision;
  return { how: kind, ...present({ by }), ...(kind === 'deny' && { message: decision.reason }) };
}

// Answers the queries of people and their programs. The store holds the truth.
const QUERY_DESCRIPTIONS: Readonly<Record<keyof typeof QUERIES, string>> = {
  view: 'What the session does now: its phase, run and turn, the messages and approvals that wait, signals that did nothing.',
  elicited: 'How a question of a server ended, by its id.',
};

function handleQueries(session: Session): void {
  const view = (): SessionView => viewOf(session.facts.now, sessionNow(session), session.passedOver.last);
  setHandler(defineQuery<SessionView>(QUERIES.view), view, { description: QUERY_DESCRIPTIONS.view });
  const endOf = (id: unknown): ElicitationEnd => session.elicitations.endOf(id);
  setHandler(defineQuery<ElicitationEnd, [unknown]>(QUERIES.elicited), endOf, {
    description: QUERY_DESCRIPTIONS.elicited,
  });
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

/** Temporal's clients show these. */
const SIGNAL_DESCRIPTIONS: Readonly<Record<keyof typeof SIGNALS, string>> = {
  message: 'A prompt: {"id": "m-1", "body": {"kind": "text", "text": "…"}}. With "now": true it interrupts what runs.',
  interrupt: 'Ends the run under way. Takes nothing; with {"signal": "interrupt", "id": "…"} it counts once.',
  resume: 'Ends a parking early. Takes nothing; with {"signal": "resume", "id": "…"} it counts once.',
  snip: 'Leaves entries of the transcript out of what the model is sent: {"entries": [12]}.',
  cancel:
    'Says who is about to cancel: {"signal": "cancel", "id": "…", "by": "…"}. The cancellation itself is a request of Temporal’s.',
  relabel: 'Says that the labels of a managed session have changed: {"labels": {"title": "…", "metadata": {}}}.',
};

/**
 * Any Temporal client can send a signal, and a signal has no answer: one that makes no sense does
 * nothing, and the view says why.
 */
function handleSignals(session: Session): void {
  const receive = (signal: string, value: unknown): void => {
    session.signals += 1;
    const why = receiveSignal(session, signal, value);
    if (why !== undefined) session.passedOver.note({ signal: signal.slice(0, LONGEST_SIGNAL), why });
  };
  // The default handler comes first: with a handler for each name alone, signals that have arrived
  // together would be delivered by name instead of in order.
  setDefaultSignalHandler(receive);
  for (const name of Object.values(SIGNALS))
    setHandler(defineSignal<[unknown]>(name), (value) => receive(name, value), {
      description: SIGNAL_DESCRIPTIONS[name],
    });
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
  } else if (name === SIGNALS.relabel) {
    if (!isRelabel(value)) return describeWrong(value, '`labels` has no title or metadata of texts');
    steered.relabel(value.labels, value);
  } else if (name === DELEGATED_SIGNAL) {
    delegations.report(value);
    session.billLate();
    session.pauses.hear(value);
    session.waits.hear(value);
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

type MoveUpdate = MoveRequest | UpdateOnce<MoveRequest>;

/** Moves a session to another host (T20) once none of its calls and agents runs there. */
function handleMoves(session: Session): void {
  const { steered, facts } = session;
  const problem = (request: MoveUpdate): string | undefined => {
    if (steered.isClosing) return 'the session is closing: nothing runs in it any more';
    return steered.once.problem(UPDATES.move, request) ?? moveProblem(unwrapRequest(request), session);
  };
  const move = async (request: MoveUpdate, by?: Signature): Promise<Moved> => {
    steered.once.note(request);
    facts.requestMove(unwrapRequest(request));
    steered.note({ action: 'move' }, isOnce(request) ? request : by);
    if (session.run !== null || session.inbox.count > 0 || session.isRewinding) return { kind: 'later' };
    if (session.delegations.agents.background.length > 0) return { kind: 'later' };
    await CancellationScope.nonCancellable(() => session.hosting.moveIfRequested());
    const { refusal } = session.hosting;
    if (refusal !== null) throw ApplicationFailure.nonRetryable(`Not moved: ${refusal}`, 'NotMoved');
    return facts.now.host ? { kind: 'moved', host: facts.now.host } : { kind: 'later' };
  };
  const validator = (request: MoveUpdate, _by?: Signature): void => refuse(problem(request));
  const update = defineUpdate<Moved, [MoveUpdate, Signature?]>(UPDATES.move);
  setHandler(update, move, { validator, description: UPDATE_DESCRIPTIONS.move });
}

/** Returns a sentence that says why the session does not move, or undefined. */
function moveProblem(request: unknown, { facts, hosting, input }: Session): string | undefined {
  if (typeof request !== 'object' || request === null) return 'the request is no object';
  const { to } = request as { readonly to?: unknown };
  const { id, name } = (to ?? {}) as { readonly id?: unknown; readonly name?: unknown };
  if (to !== undefined && (typeof id !== 'string' || typeof name !== 'string'))
    return 'the host to move to has no id and name';
  const { host } = facts.now;
  if (!host) return 'The session is tied to no host: any worker can take its next step.';
  if (input.agent) return 'An agent moves with the session that started it.';
  if (hosting.isMoving) return 'The session is moving already. Wait until it has.';
  return id === host.id ? `The session is on host ${host.name} already.` : undefined;
}
