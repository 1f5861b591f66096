// Follows a session for `run`, `watch` and `npm start` once it has its message: shows what happens,
// obeys Ctrl-C, ends with the run.
import { reasonOf } from '../system/text.ts';
import type { MessageId, SessionId, Workplace, Followed, FollowOptions, RunOutcome } from '../client/faces/types.ts';
import { agentsAtWork, isAtRest, actOnAbort, LEAVING_MS } from '../client/faces/sessions.ts';
import { ClientProblem } from '../client/faces/start.ts';
import { wasInterrupted } from '../client/faces/words.ts';
import { awaitInTime } from '../system/async.ts';
import type { Cli } from './cli.ts';
import { STATUS } from './errors.ts';
import { jsonScreen, openRunScreen, type RunScreen } from './run-screen.ts';
import type { Signals } from './signals.ts';

export type FollowRun = {
  readonly workplace: Workplace;
  readonly session: SessionId;
  /** Absent: follows the current run, or the last one. */
  readonly messageId?: MessageId;
  readonly json: boolean;
  readonly signals: Signals;
  /** Effect of the first Ctrl-C: on the run, or only on following it. */
  readonly onInterrupt: 'interrupt' | 'detach';
  /**
   * Decides what to do when a call waits and no person can be asked here: leave, or wait until
   * someone decides elsewhere. Absent: wait.
   */
  readonly unattended?: 'leave' | 'wait';
};

/**
 * Returns the exit status. Throws the errors of `follow`, and the reason why no worker does the
 * work.
 */
export async function followRun(cli: Cli, follow: FollowRun): Promise<number> {
  const { workplace, session, messageId, json, signals, onInterrupt } = follow;
  const { interrupt, terminate, abandon } = signals;
  const leave = onInterrupt === 'detach' ? [interrupt, terminate, abandon] : [terminate, abandon];
  const [nobody, left] = [new AbortController(), new AbortController()];
  const stop = AbortSignal.any([...leave, workplace.failed, cli.unread, nobody.signal, left.signal]);
  /** True while nothing runs in the session itself and its agents in the background are awaited. */
  const rest: Rest = { now: false, left: new AbortController() };
  const act = (): Promise<void> => (rest.now ? Promise.resolve(rest.left.abort()) : interruptRun(cli, follow));
  const interrupted = onInterrupt === 'interrupt' ? actOnAbort(interrupt, act) : undefined;
  const hands = { interrupt: () => process.kill(process.pid, 'SIGINT'), leave: () => left.abort() };
  const { sessions } = workplace;
  const screen = json ? jsonScreen(cli) : openRunScreen(cli, { sessions, session, own: messageId ?? null, hands });
  const leaves = follow.unattended === 'leave' && !json && cli.openInput === null;
  const show = (event: Followed): void => {
    screen.show(event);
    if ((event.type === 'approval' || event.type === 'question') && leaves) nobody.abort();
  };
  try {
    const last = await followRuns(cli, follow, { stop, rest }, { ...screen, show });
    if (last) {
      cli.say(`details: ${cli.self} show ${session}`);
      const isStopped = onInterrupt === 'interrupt' && interrupt.aborted && last.reason !== 'completed';
      return isStopped ? STATUS.interrupted : endStatus(last);
    }
  } finally {
    const sent = Promise.all([screen.end(), interrupted?.()]).then(() => true);
    const arrived = await awaitInTime(sent, false, LEAVING_MS, AbortSignal.any([terminate, abandon]));
    if (!arrived) cli.say(`the last message may not have arrived: check with \`${cli.self} show ${session}\``);
  }
  if (workplace.failed.aborted) throw workplace.failed.reason;
  if (cli.unread.aborted) return STATUS.unread;
  if (nobody.signal.aborted) return (cli.say(waitsThere(cli, session)), STATUS.waits);
  cli.say(goesOnWith(cli, session));
  return left.signal.aborted ? STATUS.ok : signals.status();
}

const goesOnWith = (cli: Cli, session: SessionId): string =>
  `the session continues while a worker runs: follow it with \`${cli.self} watch ${session}\``;

const waitsThere = ({ self }: Cli, session: SessionId): string =>
  `the session waits for a decision, and there is no terminal to ask at: decide, then run \`${self} watch ${session}\` (or use --wait)`;

type Rest = { now: boolean; readonly left: AbortController };

/** Returns the outcome of the last followed run; null when it was told to stop before that. */
async function followRuns(
  cli: Cli,
  follow: FollowRun,
  { stop, rest }: { readonly stop: AbortSignal; readonly rest: Rest },
  { show, typed, takeMessages }: Pick<RunScreen, 'show' | 'typed' | 'takeMessages'>,
): Promise<RunOutcome | null> {
  const { workplace, session, messageId, onInterrupt, signals } = follow;
  const signal = AbortSignal.any([stop, rest.left.signal]);
  const onTrouble = (why: string | null): void => cli.say(why ?? 'the server is back');
  let last: RunOutcome | null = null;
  for (;;) {
    const next = typed.waiting();
    const which: Pick<FollowOptions, 'messageId' | 'after'> =
      last === null ? { messageId } : next === null ? { after: last.run } : { messageId: next };
    let outcome: RunOutcome | null = null;
    for await (const event of workplace.sessions.follow(session, { ...which, signal, onTrouble, onNotice: cli.say })) {
      if (event.type === 'run_start' && which.after !== undefined && !rest.now)
        cli.say('the session received another message: following it');
      if (event.type === 'run_start') rest.now = false;
      show(event);
      if (event.type === 'result') outcome = event;
    }
    if (outcome === null && stop.aborted) return null;
    rest.now = false;
    last = outcome ?? last;
    if (last === null) return last;
    if (typed.waiting() !== null && !signals.interrupt.aborted) continue;
    if (onInterrupt === 'detach' && !workplace.isOurs()) return last;
    const { run } = last;
    let left = null as number | null;
    const isOver = async (): Promise<boolean> => (left = await whatRemains(workplace, session, run)) === null;
    if (await workplace.mayEnd(isOver)) return last;
    if (signals.interrupt.aborted) return (cli.say(goesOnWith(cli, session)), last);
    rest.now = left !== null && left > 0;
    if (rest.now) cli.say(waitsForAgents(left));
    takeMessages();
  }
}

/**
 * Finds what remains after a run: another run (0), this many agents in the background, which our
 * worker must continue (L71), or nothing (null). A server that does not answer counts as nothing;
 * the next wait reports it.
 */
async function whatRemains({ sessions, isOurs }: Workplace, session: SessionId, run: number): Promise<number | null> {
  try {
    const description = await sessions.describe(session);
    const agents = isOurs() ? agentsAtWork(description) : 0;
    const isOver = isAtRest(description) && (description.last?.run ?? 0) <= run;
    return agents > 0 || !isOver ? agents : null;
  } catch (error) {
    if (error instanceof ClientProblem) return null;
    throw error;
  }
}

const waitsForAgents = (agents: number | null): string =>
  `${agents === 1 ? '1 agent still works' : `${agents} agents still work`} in the background: waiting for them (Ctrl-C leaves)`;

export function endStatus(outcome: RunOutcome): number {
  if (outcome.reason === 'completed') return STATUS.ok;
  return wasInterrupted(outcome) ? STATUS.interrupted : STATUS.failed;
}

async function interruptRun(cli: Cli, { workplace, session }: FollowRun): Promise<void> {
  cli.say('interrupting the run; press Ctrl-C again to leave at once');
  try {
    await workplace.sessions.interrupt(session);
  } catch (error) {
    cli.say(`the run could not be interrupted: ${reasonOf(error)}`);
  }
}
