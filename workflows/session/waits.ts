// Stores in the transcript which calls wait for a person or for somebody outside, and how each wait
// ended, where the run asks for it (G37). What begins or ends in one workflow task is one commit,
// made once nothing of the batch runs; whoever reads the transcript can then act on it.
import { CancellationScope, condition, patched } from '@temporalio/workflow';
import type { Append, Notice } from '../contract/activities.ts';
import type { Hash } from '../contract/ids.ts';
import type { PendingApproval } from '../contract/people.ts';
import { type SettledEntry, type WaitingCall, WAITS_CHANGE } from '../contract/waits.ts';
import { nextRound } from '../delegated/next-round.ts';
import type { RunState } from '../machine/state.ts';
import type { SteeredLog } from '../updates/steered-log.ts';

/** The session as far as its waits concern it. `commit` stores entries and returns the new head. */
export type WaitingSession = {
  readonly recordsWaits: boolean;
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
  private settled: readonly SettledEntry[] = [];
  /** What is stored before the ends of waits. */
  private beside: readonly Append[] = [];
  private batch: WaitingBatch | null = null;
  private isWriting = false;

  /** `carried`: the calls that the transcript said wait at a handover. */
  constructor(session: WaitingSession, carried: readonly WaitingCall[] = []) {
    this.session = session;
    this.told = new Map(carried.map((each) => [each.call, each]));
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
  }

  /** Calls of the batch have begun to wait, or have ended. */
  change(): void {
    if (!this.session.recordsWaits || this.isWriting) return;
    this.isWriting = true;
    void CancellationScope.nonCancellable(() => this.writeAll());
  }

  /** A wait has ended. Resolves once that is stored; undefined where the run stores no waits. */
  settle(ended: Settling): Promise<void> | undefined {
    if (!this.session.recordsWaits) return undefined;
    this.settled = [...this.settled, { kind: 'settled', ...ended, at: Date.now() }];
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
  settleAsk({ call, index }: PendingApproval, ended: Omit<Settling, 'call'>): Promise<void> | undefined {
    const isTold = this.told.has(call) || this.batch?.tellsDecision(index);
    return isTold ? this.settle({ call, ...ended }) : undefined;
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
    this.told.clear();
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
  }

  private storeBeside(entries: readonly Append[]): Promise<void> {
    this.beside = [...this.beside, ...entries];
    this.change();
    return this.awaitSettled();
  }

  private takeEntries(): readonly Append[] {
    for (const { call } of this.settled) this.told.delete(call);
    const ended = [...this.beside, ...this.settled];
    this.settled = [];
    this.beside = [];
    const calls = this.batch?.isQuiet ? this.batch.waiting.filter(({ call }) => !this.told.has(call)) : [];
    for (const each of calls) this.told.set(each.call, each);
    return calls.length === 0 ? ended : [...ended, { kind: 'wait', calls, at: Date.now() }];
  }

  private async awaitSettled(): Promise<void> {
    if (this.isWriting) await CancellationScope.nonCancellable(() => condition(() => this.isSettled));
  }
}
