// Stores in the transcript which calls wait for a person or for somebody outside, and how each wait
// ended, where the run asks for it (G37). What begins or ends in one workflow task is one commit,
// made once nothing of the batch runs; whoever reads the transcript can then act on it.
import { CancellationScope, condition, patched } from '@temporalio/workflow';
import type { Append, Notice } from '../contract/activities.ts';
import type { Hash, SessionId } from '../contract/ids.ts';
import type { PendingApproval, SystemMessage } from '../contract/people.ts';
import {
  type AgentWait,
  isThreadNews,
  type SettledEntry,
  type WaitEntry,
  type WaitingCall,
  waitKey,
  WAITS_CHANGE,
} from '../contract/waits.ts';
import type { AgentOrigin } from '../contract/delegation.ts';
import type { OpenDelegation } from '../delegated/delegations.ts';
import { tellSession } from '../delegated/reports.ts';
import { nextRound } from '../delegated/pauses.ts';
import type { RunState } from '../machine/state.ts';
import { systemAppend } from '../machine/transitions.ts';
import type { SteeredLog } from '../updates/steered-log.ts';

/** The session as far as its waits concern it. `commit` stores entries and returns the new head. */
type WaitingSession = {
  readonly id: SessionId;
  readonly input: { readonly agent?: AgentOrigin };
  readonly delegations: { readonly open: readonly Pick<OpenDelegation, 'child'>[] };
  readonly recordsWaits: boolean;
  readonly recordsThreads: boolean;
  readonly stopCause: unknown;
  readonly run: { readonly state: RunState } | null;
  readonly steered: Pick<SteeredLog, 'take'>;
  readonly memoWriter: { markChanged(): void };
  setState(state: RunState): void;
  commit(head: Hash | null, append: readonly Append[]): Promise<Hash | null>;
};

/** The batch of calls that runs now. */
export type WaitingBatch = {
  /** Whether all of its calls have ended or wait. */
  readonly isQuiet: boolean;
  /** The calls that wait, in the model's order. */
  readonly waiting: readonly WaitingCall[];
  /** Whether somebody outside is told of the decision about the call at this index. */
  tellsDecision(index: number): boolean;
};

type Settling = Omit<SettledEntry, 'kind' | 'at'>;

export class Waits {
  private readonly session: WaitingSession;
  /** The calls that the transcript says wait. */
  private readonly told: Map<string, WaitingCall>;
  /** To be stored next: ends of waits, system messages of results, and news of threads. */
  private pending: readonly Append[] = [];
  /** Agents that have begun and are not stored yet. */
  private begun: readonly AgentWait[] = [];
  /** What is stored before the ends of waits. */
  private beside: readonly Append[] = [];
  private batch: WaitingBatch | null = null;
  private isWriting = false;

  /** `carried`: the calls that the transcript said wait at a handover. */
  constructor(session: WaitingSession, carried: readonly WaitingCall[] = []) {
    this.session = session;
    this.told = new Map(carried.map((each) => [waitKey(each), each]));
  }

  get open(): readonly WaitingCall[] {
    return [...this.told.values()];
  }

  /** Nothing is being stored, or about to be. */
  get isSettled(): boolean {
    return !this.isWriting;
  }

  /** The calls of this batch wait from now on. */
  follow(batch: WaitingBatch): void {
    this.batch = batch;
    if (this.pending.length > 0) this.change();
  }

  /** Calls of the batch have begun to wait, or have ended. */
  change(): void {
    if (!this.session.recordsWaits || this.isWriting) return;
    this.isWriting = true;
    void CancellationScope.nonCancellable(() => this.writeAll());
  }

  /** The agent of a call has begun: unlike a wait, it is told at once. */
  beginAgent(call: string, session: SessionId): void {
    if (!this.session.recordsThreads) return;
    this.begun = [...this.begun, { call, session }];
    this.change();
  }

  /**
   * A wait has ended, and `system` came with the result. Resolves once that is stored; undefined
   * where the run stores no waits.
   */
  settle(settling: Settling, system?: SystemMessage): Promise<void> | undefined {
    if (!this.session.recordsWaits) return undefined;
    const settled = { kind: 'settled', ...settling, at: Date.now() } as const;
    this.pending = [...this.pending, settled, ...(system ? [systemAppend(system)] : [])];
    this.change();
    return this.awaitSettled();
  }

  /** Stores a notice beside the waits. Resolves once it is stored. */
  note(notice: Notice): Promise<void> {
    return this.storeBeside([{ kind: 'notice', notice }]);
  }

  /** Stores what people did, before the calls that a stop ends have ended. */
  async noteStop(): Promise<void> {
    if (this.session.recordsWaits) await this.storeBeside(this.session.steered.take());
  }

  /** As `settle`, for a decision about a call. */
  settleAsk({ call, index }: PendingApproval, settling: Omit<Settling, 'call'>): Promise<void> | undefined {
    const isTold = this.told.has(waitKey({ call })) || this.batch?.tellsDecision(index);
    return isTold ? this.settle({ call, ...settling }) : undefined;
  }

  /**
   * Ends the waits of a reply whose calls have all ended. `isStopped`: a stop has ended them, and
   * is stored before their outcomes.
   */
  async close(isStopped: boolean): Promise<void> {
    await this.awaitSettled();
    this.batch = null;
    if (isStopped) await this.store(this.session.steered.take());
    if (this.told.size > 0) this.session.memoWriter.markChanged();
    const { open } = this;
    this.told.clear();
    this.pending = [];
    const end = { kind: 'settled', how: 'expired', at: Date.now() } as const;
    // A thread that is stopped ends, and all that waits in it.
    const telling = isStopped ? undefined : this.tellParent(open.map(({ call }) => ({ ...end, call })));
    if (telling) await telling;
  }

  /** Takes a signal's value: calls of an agent wait, or do not any more. */
  hear(value: unknown): void {
    const { session } = this;
    if (!session.recordsThreads || session.run === null || !isThreadNews(value)) return;
    const { session: thread, head, told } = value;
    // What comes right after a handover is stored once its call is followed again.
    if (!session.delegations.open.some(({ child }) => child === thread)) return;
    const at = Date.now();
    const reported = told.map((entry): WaitEntry | SettledEntry =>
      entry.kind === 'settled'
        ? { ...entry, thread, at }
        : { kind: 'wait', calls: entry.calls.map(({ call, why }) => ({ call, why, thread, head })), at },
    );
    this.pending = [...this.pending, ...reported];
    if (this.batch !== null) this.change();
  }

  /**
   * The agent of a call has ended, and nothing of it waits any more. Where others of the reply go
   * on, the ends of its waits are stored: a stop of the run ends them all.
   */
  endAgent(thread: SessionId): void {
    this.pending = this.pending.filter((entry) => entry.kind !== 'wait' || !isOfThread(entry, thread));
    const settled = new Set(this.pending.flatMap((entry) => (entry.kind === 'settled' ? [waitKey(entry)] : [])));
    const waits = this.open.filter((each) => each.thread === thread && !settled.has(waitKey(each)));
    if (waits.length === 0) return;
    for (const each of waits) this.told.delete(waitKey(each));
    this.session.memoWriter.markChanged();
    if (this.session.stopCause !== null || this.batch === null) return;
    const end = { kind: 'settled', how: 'expired', thread, at: Date.now() } as const;
    this.pending = [...this.pending, ...waits.map(({ call }) => ({ ...end, call }))];
    this.change();
  }

  /** Says what was stored to the session whose thread this is (G68); undefined where it is none. */
  private tellParent(entries: readonly Append[]): Promise<void> | undefined {
    const { input, id, run } = this.session;
    const reports = entries.filter((entry) => entry.kind === 'wait' || entry.kind === 'settled');
    const head = run?.state.head;
    if (!input.agent?.thread || !head || reports.length === 0) return undefined;
    return tellSession(input.agent.parent, { session: id, head, told: reports });
  }

  private async writeAll(): Promise<void> {
    await nextRound();
    for (let entries = this.takeEntries(); entries.length > 0; entries = this.takeEntries()) await this.store(entries);
    this.isWriting = false;
  }

  private async store(entries: readonly Append[]): Promise<void> {
    const { session } = this;
    if (entries.length === 0 || session.run === null) return;
    // An earlier release cannot replay what follows, and is told so.
    patched(WAITS_CHANGE);
    const head = await session.commit(session.run.state.head, entries);
    session.setState({ ...session.run.state, head });
    session.memoWriter.markChanged();
    const telling = this.tellParent(entries);
    if (telling) await telling;
  }

  private storeBeside(entries: readonly Append[]): Promise<void> {
    this.beside = [...this.beside, ...entries];
    this.change();
    return this.awaitSettled();
  }

  private takeEntries(): readonly Append[] {
    for (const entry of this.pending) this.follows(entry);
    const appends: Append[] = [...this.beside, ...this.pending];
    this.pending = [];
    this.beside = [];
    const agents = this.begun.length > 0 ? this.begun : undefined;
    this.begun = [];
    const calls = this.batch?.isQuiet ? this.batch.waiting.filter((each) => !this.told.has(waitKey(each))) : [];
    for (const each of calls) this.told.set(waitKey(each), each);
    const at = Date.now();
    // A thread is told of before what waits in it.
    if (agents && appends.length > 0) appends.unshift({ kind: 'wait', calls: [], agents, at });
    else if (agents) return [{ kind: 'wait', calls, agents, at }];
    return calls.length > 0 ? [...appends, { kind: 'wait', calls, at }] : appends;
  }

  private follows(entry: Append): void {
    if (entry.kind === 'settled') this.told.delete(waitKey(entry));
    if (entry.kind === 'wait') for (const each of entry.calls) this.told.set(waitKey(each), each);
  }

  private async awaitSettled(): Promise<void> {
    if (this.isWriting) await CancellationScope.nonCancellable(() => condition(() => this.isSettled));
  }
}

const isOfThread = ({ calls }: WaitEntry, session: SessionId): boolean =>
  calls.some(({ thread }) => thread === session);
