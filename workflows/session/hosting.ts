// Keeps the steps of a session on the host that has its folder, and moves it to another one (T18,
// T20): when nobody polls there for the grace of the host, when the host has lost the folder, or
// when somebody wants it to.
import {
  ActivityFailure,
  ApplicationFailure,
  CancellationScope,
  log,
  patched,
  TimeoutFailure,
  workflowInfo,
} from '@temporalio/workflow';
import { activityProblem } from '../activity-problem.ts';
import type { FilesEntry } from '../contract/rewind.ts';
import { FOLDER_LEFT, HOST_AWAY, HOST_EMPTIED } from '../contract/failures.ts';
import type { LeaveReason, MoveRequest, TakenOver, TakeOver } from '../contract/hosts.ts';
import type { AgentOrigin } from '../contract/delegation.ts';
import type { Hash, SessionId } from '../contract/ids.ts';
import type { SessionActivities } from '../contract/activities.ts';
import { hostQueue, type SessionHost } from '../contract/session.ts';
import type { Facts } from './session-state.ts';

/** The session as far as a move concerns it. */
type MovableSession = {
  readonly id: SessionId;
  readonly input: { readonly agent?: Pick<AgentOrigin, 'root' | 'host'> };
  readonly ports: Pick<SessionActivities, 'leaveHost' | 'takeOver'>;
  readonly facts: Facts;
  readonly memoWriter: { markChanged(): void };
  readonly run: { readonly state: { readonly head: Hash | null } } | null;
  readonly delegations: {
    readonly agents: { readonly background: readonly unknown[]; readonly hasHadAny: boolean };
  };
};

/** `stays`: the old host is at work after all. `refused`: no host could take the session over. */
type MoveEnd = 'moved' | 'stays' | 'refused';

/** The most that a step waits for its host before it is tried to leave that once more. */
const LONGEST_GRACE_MS = 6 * 3_600_000;

export class Hosting {
  private readonly session: MovableSession;
  /** The move under way: all steps that need the folder wait for it. */
  private move: Promise<MoveEnd> | null = null;
  /** Why no host took the session over when it was tried last. */
  private problem: string | null = null;
  /** How often in a row no host could take the session over: the next try comes later each time. */
  private refusals = 0;

  constructor(session: MovableSession) {
    this.session = session;
  }

  get refusal(): string | null {
    return this.problem;
  }

  get isMoving(): boolean {
    return this.move !== null;
  }

  /** The host of the next step, with the time for which that step waits for it. */
  get current(): SessionHost | null {
    const { host = null } = this.session.facts.now;
    if (!host?.graceMs || this.refusals === 0) return host;
    return { ...host, graceMs: Math.min(host.graceMs * 2 ** this.refusals, LONGEST_GRACE_MS) };
  }

  /**
   * Schedules a step on the session's host, and again where that was away or has been left: then
   * under a number of its own, as a step that watchers know nothing of. `found`: what came of it on
   * the host that is left, before or while the session leaves; null where nothing did.
   */
  async onHost<Result>(
    schedule: (again: { readonly step?: number }) => Promise<Result>,
    found: () => Promise<Result | null> = () => Promise.resolve(null),
  ): Promise<Result> {
    for (let again = {}; ; again = { step: this.session.facts.nextStep() }) {
      if (this.move) await this.awaitMove(this.move);
      const at = this.current;
      try {
        const result = await schedule(again);
        this.refusals = 0;
        return result;
      } catch (error) {
        if (!at || !(error instanceof ActivityFailure)) throw error;
        const because = leaveReason(error);
        if (because === null) throw error;
        // What it has stored before it went counts, with the files of then: the next step leaves.
        const stored = patched('perdure-found-before-move') ? await found() : null;
        if (stored !== null) return stored;
        const end = await this.leave(at, because);
        // What a host has lost cannot be waited for. An agent without a stored step ends: its
        // parent waits for it, and can begin another where the session has moved to.
        if (end === 'refused' && because === 'emptied') throw error;
        if (end === 'refused' && this.hasNotBegun) throw hostAway(error, at);
        const late = end === 'moved' ? await found() : null;
        if (late !== null) return late;
      }
    }
  }

  /** Whether agents may have moved the folder that the session works in. */
  get follows(): boolean {
    const { input, delegations } = this.session;
    return input.agent !== undefined || delegations.agents.hasHadAny;
  }

  /** Whether somebody wants the session to move, and no agent works in its folder. */
  get mayMoveNow(): boolean {
    const { facts, delegations } = this.session;
    return facts.now.leaving != null && delegations.agents.background.length === 0 && !this.isMoving;
  }

  /** Moves the session now if somebody wants it to. Call it only while no call runs. */
  async moveIfRequested(): Promise<void> {
    const { host, leaving } = this.session.facts.now;
    if (!leaving || !this.mayMoveNow) return;
    if (host) await this.leave(host, 'moved', leaving);
    else this.session.facts.requestMove(null);
  }

  /** Calls that time out together leave together. */
  private async leave(from: SessionHost, because: LeaveReason, request: MoveRequest = {}): Promise<MoveEnd> {
    if (this.session.facts.now.host?.id !== from.id) return 'moved';
    this.move ??= CancellationScope.nonCancellable(() => this.changeHost(from, because, request)).finally(() => {
      this.move = null;
    });
    return await this.awaitMove(this.move);
  }

  /** A stop ends the wait, not the move: what a host has taken over stays there. */
  private awaitMove(move: Promise<MoveEnd>): Promise<MoveEnd> {
    return Promise.race([move, CancellationScope.current().cancelRequested]);
  }

  private async changeHost(from: SessionHost, because: LeaveReason, request: MoveRequest): Promise<MoveEnd> {
    const files = because === 'moved' ? await this.captureLast() : null;
    const end = await this.takeOver({ from, because, ...request, ...(files && { files }) });
    const { facts, memoWriter } = this.session;
    this.problem = end.kind === 'refused' ? end.problem : null;
    if (because === 'moved') facts.requestMove(null);
    if (end.kind === 'there') return 'stays';
    if (end.kind === 'refused') {
      if (because !== 'moved') this.refusals += 1;
      log.warn(`the session stays with host ${from.name}: ${end.problem}`);
      return 'refused';
    }
    const { host, place, at, calls } = end;
    const notice = { kind: 'host_changed', from: from.name, to: host.name, because, at, calls } as const;
    this.refusals = 0;
    facts.changeHost(host, place, [...(files ? [files] : []), { kind: 'notice', notice }]);
    memoWriter.markChanged();
    return 'moved';
  }

  /** A host that is away has nothing to say: its last snapshot counts. */
  private async captureLast(): Promise<FilesEntry | null> {
    const { ports, facts } = this.session;
    const { head } = this;
    if (head === null) return null;
    try {
      return (await ports.leaveHost({ head, step: facts.nextStep() })).files;
    } catch (error) {
      if (activityProblem(error) === null) throw error;
      return null;
    }
  }

  private async takeOver(request: Pick<TakeOver, 'from' | 'because' | 'to' | 'files'>): Promise<TakenOver> {
    const { ports, facts, id, input } = this.session;
    const place = facts.now.place ?? facts.now.workspace;
    const { head } = this;
    if (!place || (head === null && !this.hasNotBegun))
      return { kind: 'refused', problem: 'no snapshot of its folder is stored yet' };
    const root = input.agent?.root ?? id;
    const queue = hostQueue(workflowInfo().taskQueue, request.from);
    try {
      return await ports.takeOver({ ...request, queue, root, head, place, step: facts.nextStep() });
    } catch (error) {
      const problem = activityProblem(error);
      if (problem === null) throw error;
      return { kind: 'refused', problem: problem.detail };
    }
  }

  /** An agent of which nothing is stored, begun on the host of its parent. */
  private get hasNotBegun(): boolean {
    return this.head === null && this.session.input.agent?.host !== undefined;
  }

  private get head(): Hash | null {
    return this.session.run?.state.head ?? this.session.facts.now.head;
  }
}

function hostAway({ activityType, activityId, retryState }: ActivityFailure, { name }: SessionHost): ActivityFailure {
  const why = `host ${name} is away, and nothing of this agent is stored`;
  const cause = ApplicationFailure.nonRetryable(why, HOST_AWAY);
  return new ActivityFailure(why, activityType, activityId, retryState, undefined, cause);
}

/** Returns why a step that failed like this is to be made on another host; null where it is not. */
function leaveReason(error: ActivityFailure): LeaveReason | null {
  const { cause } = error;
  if (cause instanceof TimeoutFailure && cause.timeoutType === 'SCHEDULE_TO_START') return 'away';
  if (!(cause instanceof ApplicationFailure)) return null;
  if (cause.type === FOLDER_LEFT) return 'away';
  return cause.type === HOST_EMPTIED ? 'emptied' : null;
}
