// Runs a prompt for a program (L52), as a durable session: brings up what it needs and leaves the
// machine as it was.
import { type Log, formatLog } from '../../system/log.ts';
import type { Watched } from '../../store/live/events.ts';
import { checkConfig, type PerdureConfig } from '../../worker/config/config.ts';
import { type ChosenConfig, chooseConfig } from './session-workers.ts';
import { reasonOf } from '../../system/text.ts';
import { RUN_OPTIONS } from '../../workflows/contract/options-problem.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { OptionChanges } from '../../workflows/contract/session.ts';
import { answerApprovals, type OnApproval, type OnQuestion } from './answer-approvals.ts';
import { type ApprovalEvent, isApprovalEvent } from '../sessions/decide.ts';
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
     * An open session: the prompt is its next message, and the options given hold from then on.
     * Absent: a new one.
     */
    readonly session?: string;
    /**
     * Decides about calls that wait for it (L55). Absent: a session that is opened here asks nobody
     * and denies what would ask (`dontAsk`), unless a `permissionMode` is given or configured: then
     * someone has to decide elsewhere. The session keeps that mode: give `permissionMode:
     * 'default'` with the first `onApproval` for it. An answer that will not do, and an input that
     * the tool refuses, end the query with ClientProblem `refused`; the call still waits.
     */
    readonly onApproval?: OnApproval;
    /**
     * Answers questions of the model (L81). Absent: where nobody is asked about calls, the model
     * cannot ask either; else someone has to answer elsewhere. An answer that will not do ends the
     * query with ClientProblem `refused`; the question still waits.
     */
    readonly onQuestion?: OnQuestion;
    /** Interrupts the run, which then ends with what it has. */
    readonly signal?: AbortSignal;
    /** Where the server, the key and the data folder are; the process's own when absent. */
    readonly env?: Readonly<Record<string, string | undefined>>;
    /**
     * The session is worked on with this configuration, and by no worker without it; absent: as
     * PERDURE_CONFIG or the user's own file says. With a `name` in it, workers of that name
     * (`perdure worker --config FILE`) may go on with the session; without, only a query() for this
     * session. An open session keeps the one that it was begun with: another is refused.
     */
    readonly config?: PerdureConfig;
    /** Progress and warnings for a person, one line each. */
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

/** The first event: the id under which the session is found again. */
export type SessionEvent = { readonly type: 'session'; readonly sessionId: SessionId };

export type QueryEvent = SessionEvent | Watched | ApprovalEvent | RunOutcome;

export type RunningQuery = AsyncGenerator<QueryEvent, RunOutcome> & {
  /**
   * Resolves with the result of a run that completed; runs it, when nothing listens to the events.
   * Throws RunFailed for another end, ClientProblem `unanswered` when the events were left before
   * it, and what the events throw.
   */
  result(): Promise<RunOutcome>;
};

/**
 * A run that ended without completing: the reason and its detail in one line, the whole in
 * `outcome`.
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
 * Yields the session's id, the run's events, and its result as the last of them, which is returned
 * as well. A consumer that stops early leaves the session as it is, durable, and is told how to
 * follow it. Throws ConfigProblem, SetupProblem or ClientProblem with a sentence for a person, and
 * what `onApproval` throws.
 */
export function query(asked: Query): RunningQuery {
  const end = newEnd();
  const events = untilEnd(asked, end);
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
  // Awaited by `result()` alone: whoever reads the events has it from them.
  outcome.catch(() => undefined);
  return { outcome, came, failed };
}

async function* untilEnd(asked: Query, end: End): AsyncGenerator<QueryEvent, RunOutcome> {
  try {
    for await (const event of runQuery(asked)) {
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

async function* runQuery(asked: Query): AsyncGenerator<QueryEvent> {
  refuseUnknown('query()', asked, queryKeys);
  const { prompt, options = {} } = asked;
  refuseUnknown('query()', options, optionKeys);
  const { signal, env = process.env, say = () => undefined, config: given, onApproval, onQuestion, ...run } = options;
  const { say: tell = (line: string) => process.emitWarning(line, 'PerdureWarning') } = options;
  const chosen = given ? givenConfig(given) : await chooseConfig(undefined, env);
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
    // Where nobody answers, nothing is asked.
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

function givenConfig(given: PerdureConfig): ChosenConfig {
  return { config: checkConfig(given, 'the configuration'), source: { kind: 'given' }, explicit: true };
}
