// Runs a prompt for a program (L52) as a durable session: brings up what it needs and leaves the
// machine as it was.
import { type Log, formatLog } from '../../system/log.ts';
import type { WatchedEvent } from '../../store/live/events.ts';
import { checkConfig, type PerdureConfig } from '../../worker/config/config.ts';
import { type ChosenConfig, chooseConfig } from './session-workers.ts';
import { reasonOf } from '../../system/text.ts';
import { RUN_OPTIONS } from '../../workflows/contract/run-options.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { OptionChanges } from '../../workflows/contract/session.ts';
import { answerApprovals, type OnApproval, type OnQuestion } from './answer-approvals.ts';
import { type ApprovalEvent, isApprovalEvent } from '../sessions/waiting-approval.ts';
import { openWorkplace } from './workplace.ts';
import { awaitArrival, actOnAbort } from '../async.ts';
import { type KeysOf, refuseUnknown } from '../options.ts';
import { ClientProblem } from '../problem.ts';
import type { Prompt } from '../sessions/prompt.ts';
import type { RunOutcome } from '../sessions/outcome.ts';

export type Query = {
  /** A text, or texts, images and PDF documents in the shape of the Messages API. */
  readonly prompt: Prompt;
  readonly options?: OptionChanges & {
    /**
     * An open session: the prompt is its next message, and the given options hold from then on.
     * Absent: a new session.
     */
    readonly session?: string;
    /**
     * Decides about calls that wait for a decision (L55). Absent: a session that is opened here
     * asks no person and denies what would ask (`dontAsk`), unless a `permissionMode` is given or
     * configured; then someone has to decide elsewhere. The session keeps that mode: give
     * `permissionMode: 'default'` with the first `onApproval` for it. An answer that is not
     * acceptable, and an input that the tool refuses, end the query with ClientProblem `refused`;
     * the call still waits.
     */
    readonly onApproval?: OnApproval;
    /**
     * Answers questions of the model (L81). Absent: where calls are not asked about, the model
     * cannot ask either; else someone has to answer elsewhere. An answer that is not acceptable
     * ends the query with ClientProblem `refused`; the question still waits.
     */
    readonly onQuestion?: OnQuestion;
    /** Interrupts the run, which then ends with what it has. */
    readonly signal?: AbortSignal;
    /** Environment with the server, the key and the data folder; absent: the process's own. */
    readonly env?: Readonly<Record<string, string | undefined>>;
    /**
     * Configuration for the session; workers without it do not work on it. Absent: PERDURE_CONFIG
     * or the user's own file. If it has a `name`, workers of that name (`perdure worker --config
     * FILE`) may continue the session; otherwise only a query() for this session may. An open
     * session keeps the configuration that it began with and refuses another.
     */
    readonly config?: PerdureConfig;
    /** Receives progress and warnings for a person, one line each. */
    readonly say?: (line: string) => void;
  };
};

const queryKeys: KeysOf<Query> = { prompt: true, options: true };
const optionKeys: KeysOf<NonNullable<Query['options']>> = {
  ...RUN_OPTIONS,
  session: true,
  onApproval: true,
  onQuestion: true,
  signal: true,
  env: true,
  config: true,
  say: true,
};

/** The first event: the id under which the session can be found again. */
export type SessionEvent = { readonly type: 'session'; readonly sessionId: SessionId };

export type QueryEvent = SessionEvent | WatchedEvent | ApprovalEvent | RunOutcome;

export type RunningQuery = AsyncGenerator<QueryEvent, RunOutcome> & {
  /**
   * Resolves with the result of a completed run; reads the events itself if the program does not.
   * Throws RunFailed for another end, ClientProblem `unanswered` when the events were left before
   * it, and errors of the events.
   */
  result(): Promise<RunOutcome>;
};

/**
 * A run that ended without completing. The message has the reason and its detail in one line;
 * `outcome` has everything.
 */
export class RunFailed extends Error {
  override readonly name = 'RunFailed';
  readonly outcome: RunOutcome;
  constructor(outcome: RunOutcome) {
    const { reason, detail, sessionId } = outcome;
    super(`the run of session ${sessionId} ended with ${reason}${detail === undefined ? '' : `: ${detail}`}`);
    this.outcome = outcome;
  }
}

/**
 * Runs a prompt. Yields the session's id, the run's events, and last its result, which is returned
 * as well. When a consumer stops early, the session stays as it is, durable, and a warning says how
 * to follow it. Throws ConfigProblem, SetupProblem or ClientProblem with a sentence for a person,
 * and errors of `onApproval`.
 */
export function query(request: Query): RunningQuery {
  const end = newEnd();
  const events = untilEnd(request, end);
  const next = events.next.bind(events);
  let isRead = false;
  const read = (): ReturnType<typeof next> => {
    isRead = true;
    return next();
  };
  const result = async (): Promise<RunOutcome> => {
    if (!isRead) for (let step = await read(); step.done !== true;) step = await read();
    const outcome = await end.outcome;
    if (outcome.reason !== 'completed') throw new RunFailed(outcome);
    return outcome;
  };
  return Object.assign(events, { next: read, result });
}

type End = {
  readonly outcome: Promise<RunOutcome>;
  readonly came: (outcome: RunOutcome) => void;
  readonly failed: (error: unknown) => void;
};

/** The first of `came` and `failed` counts. */
function newEnd(): End {
  let [came, failed]: [End['came'], End['failed']] = [() => undefined, () => undefined];
  const outcome = new Promise<RunOutcome>((resolve, reject) => ([came, failed] = [resolve, reject]));
  // Only `result()` awaits it; a reader of the events gets the error from them.
  outcome.catch(() => undefined);
  return { outcome, came, failed };
}

async function* untilEnd(request: Query, end: End): AsyncGenerator<QueryEvent, RunOutcome> {
  try {
    for await (const event of runQuery(request)) {
      if (event.type === 'result') end.came(event);
      yield event;
    }
    return await end.outcome;
  } catch (error) {
    end.failed(error);
    throw error;
  } finally {
    end.failed(new ClientProblem('unanswered', 'the events of this query() were left before its run ended'));
  }
}

async function* runQuery(request: Query): AsyncGenerator<QueryEvent> {
  refuseUnknown('query()', request, queryKeys);
  const { prompt, options = {} } = request;
  refuseUnknown('query()', options, optionKeys);
  const {
    signal,
    env = process.env,
    say = () => undefined,
    config: configuration,
    onApproval,
    onQuestion,
    ...run
  } = options;
  const { say: tell = (line: string) => process.emitWarning(line, 'PerdureWarning') } = options;
  const chosen = configuration ? explicitConfig(configuration) : await chooseConfig(undefined, env);
  const { config } = chosen;
  const log: Log = (_, message, fields) => say(formatLog(message, fields));

  const workplace = await openWorkplace({ env, chosen, session: run.session, anywhere: false, say, log });
  const { sessions, workers } = workplace;
  const isAsked = onApproval !== undefined || onQuestion !== undefined;
  const answers = isAsked ? answerApprovals(sessions, { onApproval, onQuestion }) : undefined;
  const failed = answers ? AbortSignal.any([workplace.failed, answers.failed]) : workplace.failed;
  let interrupted: (() => Promise<void>) | undefined;
  let leaving = false;
  let goesOn: string | undefined;
  try {
    // Ask only if someone can answer.
    const unasked = !isAsked && (run.permissionMode ?? config.permissionMode) === undefined;
    const ifNew = unasked ? { permissionMode: 'dontAsk' as const } : {};
    const { session, messageId } = await sessions.start(prompt, { ...run, newId: workplace.session, workers, ifNew });
    goesOn = `session ${session} goes on when a worker has it: npx perdure watch ${session} follows it`;
    yield { type: 'session', sessionId: session };
    const interrupt = async (): Promise<void> => {
      try {
        await sessions.interrupt(session);
      } catch (error) {
        if (leaving) throw error;
        say(`it could not be interrupted: ${reasonOf(error)}`);
      }
    };
    interrupted = actOnAbort(signal, interrupt);
    for await (const event of sessions.follow(session, {
      messageId,
      signal: failed,
      onTrouble: (why) => why && say(why),
      onNotice: say,
    })) {
      if (event.type === 'result') {
        goesOn = undefined;
        yield event;
        return;
      }
      if (isApprovalEvent(event)) answers?.hear(event);
      yield event;
    }
    throw failed.reason ?? new ClientProblem('unanswered', `session ${session} ended without a result`);
  } finally {
    try {
      leaving = true;
      const interrupt = interrupted && awaitArrival('the interrupt', interrupted());
      const [problems = [], problem] = await Promise.all([answers?.stop(), interrupt]);
      for (const each of [...problems, problem]) if (each) say(each);
      if (goesOn !== undefined) tell(goesOn);
    } finally {
      await workplace.close();
    }
  }
}

function explicitConfig(configuration: PerdureConfig): ChosenConfig {
  return { config: checkConfig(configuration, 'the configuration'), source: { kind: 'given' }, explicit: true };
}
