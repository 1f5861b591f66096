// Everything a session is between two workflow tasks, and the part of it that travels through
// continue-as-new (L4).
import type { CallKey, Hash, MessageId } from '../contract/ids.ts';
import { addSpend, nothingSpent, type RunSnapshot, type SpentTotals } from '../contract/loop.ts';
import { optionsSizeProblem } from '../contract/options-problem.ts';
import {
  MOST_SNIPS,
  type Repair,
  type RunOptions,
  type RunSummary,
  type SessionHost,
  type SessionInput,
  type UserMessage,
} from '../contract/session.ts';
import type { AnswerRecord, PendingApproval } from '../contract/people.ts';
import type { WaitingCall } from '../contract/waits.ts';
import type { OpenAction, SteeringRecord } from '../contract/steered.ts';
import type { AskedOnceSnapshot } from '../updates/steered-log.ts';
import type { AgentOrigin, DelegatedReport } from '../contract/delegation.ts';
import type { CheckOut } from '../contract/fork.ts';
import type { MoveRequest } from '../contract/hosts.ts';
import type { AgentsCarry } from '../delegated/agents.ts';
import type { OpenDelegation } from '../delegated/delegations.ts';
import { billLate, type LateBill, type RunTaken } from '../delegated/shares.ts';
import type { PausesCarry } from '../delegated/pauses.ts';
import { type BringsOptions, type InboxSnapshot, keepPlaceUnlessGiven, withOptions } from './inbox.ts';
import type { Alert, AlertKind, Append, Call, WorkspacePlace } from '../contract/activities.ts';
import type { CallResult } from '../machine/events.ts';
import type { ContextFacts, RunState } from '../machine/state.ts';
import { present } from '../contract/present.ts';
import type { WebhooksCarry } from '../contract/webhooks.ts';

/**
 * `agent`: the session is an agent's, and reports to its parent (L66). `carry`: only a handover
 * sets it, and the next workflow run takes it up.
 */
export type ResumedInput = SessionInput & { readonly agent?: AgentOrigin; readonly carry?: Carry };

export type Carry = {
  /** Temporal's id of the session's first run (L40). */
  readonly chain: string;
  /** Activities scheduled so far; the number names live files. */
  readonly step: number;
  readonly head: Hash | null;
  readonly options: RunOptions;
  /**
   * The options that the last run opened with, when messages it took have changed `options` since:
   * those may be refused (L57).
   */
  readonly accepted?: RunOptions | null;
  /** Why the next run cannot open: options that a message brought are too large to be carried. */
  readonly refused?: string | null;
  /** The workspace as the last opened run found it. */
  readonly place?: WorkspacePlace | null;
  /**
   * Where the last run was opened, also when a message has chosen another workspace since. Absent in
   * what an earlier release carried, and without a host.
   */
  readonly workspace?: WorkspacePlace | null;
  /** The host whose disk the workspace is on; null or absent where any worker has it. */
  readonly host?: SessionHost | null;
  /** Somebody wants the session to leave its host before its next step (T20). */
  readonly leaving?: MoveRequest | null;
  /** What the next model call appends besides: that the host is another now (T18). */
  readonly news?: readonly Append[];
  /** Runs opened so far, refused ones included. */
  readonly runs: number;
  /** The hooks of the session's start have been asked. */
  readonly begun: boolean;
  readonly inbox: InboxSnapshot;
  readonly last: RunSummary | null;
  /** How full the transcript's context is, from run to run (L10). */
  readonly context: ContextFacts;
  /** Snips that were asked for and are not in the transcript yet (L7). */
  readonly snips: readonly number[];
  /** Steering that is not in the transcript yet (O12). */
  readonly steered?: readonly SteeringRecord[];
  /** The person who is about to cancel the session. */
  readonly canceller?: OpenAction;
  /** Updates that were taken, and must not count again. */
  readonly once?: AskedOnceSnapshot;
  /** The loss that a repair left; the next run tells it. */
  readonly lost?: string | null;
  /** The spending of all runs that have ended. Absent where an earlier release carried it. */
  readonly spent?: SpentTotals;
  /**
   * `spent` as it was when the last message of a person opened a run: runs that ends of agents have
   * opened since then share its limits (L71).
   */
  readonly since?: SpentTotals;
  readonly suggestion?: { readonly run: number; readonly text: string };
  /**
   * The alerts for which the worker that opened the last run has hooks. Absent while no worker has
   * said so.
   */
  readonly alertKinds?: readonly AlertKind[];
  readonly alerts?: readonly QueuedAlert[];
  readonly webhooks?: WebhooksCarry;
  /** The files that a fork still has to check out (T10). */
  readonly checkOut?: CheckOut | null;
  readonly traceparent?: string | undefined;
  readonly querySource?: UserMessage['querySource'] | undefined;
  /** The people who answered the newest questions (L81). */
  readonly answered?: readonly AnswerRecord[];
  /** How many questions open calls have asked while they ran (L77). */
  readonly elicited?: readonly (readonly [call: CallKey, count: number])[];
  /**
   * The agents that may still report, and the spending that the run under way has not counted
   * (L69).
   */
  readonly agents?: AgentsCarry;
  /** Reports that came before the calls that a reset has to make again. */
  readonly early?: readonly DelegatedReport[];
  /** Calls that were given up, and may still end. */
  readonly givenUp?: readonly CallKey[];
  /** The agents that only wait, and whether the parent knows that this session does (L51). */
  readonly pauses?: PausesCarry;
  readonly run: RunCarry | null;
};

/** An alert with the configuration of its run. */
export type QueuedAlert = { readonly alert: Alert; readonly config: Hash | null };

/**
 * The calls of a reply while some wait for a decision or are delegated, and no activity runs (L4,
 * L55, L63).
 */
export type ToolsCarry = {
  readonly calls: readonly Call[];
  readonly cut: boolean;
  /** The results of finished calls, by index. */
  readonly results: readonly (readonly [index: number, result: CallResult])[];
  readonly approvals: readonly PendingApproval[];
  readonly delegated?: readonly OpenDelegation[];
  /** The head of the reply, where waits were stored after it, and those that are open (G37). */
  readonly reply?: Hash;
  readonly waits?: readonly WaitingCall[];
};

/**
 * A run in the middle of itself: between two iterations, parked, or with calls that wait for a
 * decision or are delegated.
 */
export type RunCarry = {
  readonly snapshot: RunSnapshot;
  readonly state: RunState;
  /** The messages the run has taken, as its summary will list them. */
  readonly messages: readonly MessageId[];
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** Milliseconds since the epoch, moved on by parking; null without a runtime limit (L51). */
  readonly deadline: number | null;
  /**
   * Milliseconds left of the runtime limit: the time between two workflow runs does not count.
   * Absent in what an earlier release carried.
   */
  readonly leftMs?: number | null;
  readonly tools: ToolsCarry | null;
  readonly parkedUntil: number | null;
  /**
   * Milliseconds since the epoch: when the iteration began, for its trace. Absent in what an
   * earlier release carried.
   */
  readonly iterationAt?: number;
};

/**
 * The wait in which a run is handed over: for calls, or parked. Both are null between two
 * iterations.
 */
export type RunWait = Pick<RunCarry, 'tools' | 'parkedUntil'>;

export const notWaiting: RunWait = { tools: null, parkedUntil: null };

type DelegationPart = 'agents' | 'early' | 'givenUp' | 'pauses';

/**
 * Everything a session carries except its inbox, its run, its agents, and the state of alerts,
 * questions and steering.
 */
export type CarriedFacts = Readonly<
  Omit<
    Carry,
    | 'inbox'
    | 'alerts'
    | 'webhooks'
    | 'answered'
    | 'elicited'
    | 'steered'
    | 'canceller'
    | 'once'
    | 'run'
    | DelegationPart
  >
>;

type AnsweredRun = Pick<CarriedFacts, 'head' | 'last' | 'context'> & { readonly spent: SpentTotals };

/** The session's budget holds at once, whether or not a run opens with the other options (G69). */
function keepBudgetOf({ sessionBudgetUsd }: RunOptions, options: RunOptions): RunOptions {
  const { sessionBudgetUsd: before, ...others } = options;
  if (before === sessionBudgetUsd) return options;
  return { ...others, ...present({ sessionBudgetUsd }) };
}

/** The facts of a session. Each change is a method here; nothing else changes them. */
export class Facts {
  private carried: CarriedFacts;
  private measured: { readonly options: RunOptions; readonly fit: boolean } | null = null;

  constructor(carried: CarriedFacts) {
    this.carried = carried;
  }

  get now(): CarriedFacts {
    return this.carried;
  }

  /**
   * Whether a handover can carry the options. They are measured once, because every signal of a
   * burst asks.
   */
  get areCarriable(): boolean {
    const { options } = this.carried;
    if (this.measured?.options !== options) this.measured = { options, fit: optionsSizeProblem(options) === undefined };
    return this.measured.fit;
  }

  nextStep(): number {
    this.set({ step: this.carried.step + 1 });
    return this.carried.step;
  }

  /** Counts a run that is to open with these messages and the options they bring. */
  beginRun(messages: readonly UserMessage[]): void {
    const { runs, options, spent: totals } = this.carried;
    const isAsked = totals !== undefined && messages.some(({ ended: news }) => news === undefined);
    const traceparent = messages.find((message) => message.traceparent)?.traceparent;
    const querySource = messages.find((message) => message.querySource)?.querySource;
    const opening = { runs: runs + 1, options: withOptions(options, messages), traceparent, querySource };
    this.set({ ...opening, ...(isAsked && { since: totals }) });
  }

  /** The hooks of the session's start have been asked, and are not asked again. */
  noteHooksAsked(): void {
    this.set({ begun: true });
  }

  /** The run has opened: its options are good, and it found the workspace in this place. */
  openRun(place: WorkspacePlace | null, host: SessionHost | null): void {
    const isHosted = host !== null || this.carried.host;
    this.set({ accepted: null, place, ...(isHosted && { host, workspace: place }) });
  }

  requestMove(leaving: MoveRequest | null): void {
    this.set({ leaving });
  }

  /** The session's folders are on another host now, and `news` says so. */
  changeHost(host: SessionHost, place: WorkspacePlace, news: readonly Append[]): void {
    const { place: chosen } = this.carried;
    const moved = { host, workspace: place, ...(chosen && { place }) };
    this.set({ ...moved, leaving: null, news: [...(this.carried.news ?? []), ...news] });
  }

  /** Drops news that are stored. */
  dropNews(stored: readonly Append[]): void {
    const { news = [] } = this.carried;
    if (stored.length > 0) this.set({ news: news.filter((one) => !stored.includes(one)) });
  }

  /** Returns the news for an entry that is stored whatever happens, once. */
  takeNews(): readonly Append[] {
    const { news = [] } = this.carried;
    this.dropNews(news);
    return news;
  }

  knowAlerts(alertKinds: readonly AlertKind[] | undefined): void {
    if (alertKinds) this.set({ alertKinds });
  }

  /**
   * `before`: the options before this run's messages. Refused options are not kept; a defect says
   * nothing about them.
   */
  failToOpen(kind: 'refused' | 'failed', before: RunOptions): void {
    const accepted = this.carried.accepted ?? before;
    this.set(kind === 'refused' ? { options: accepted, accepted: null, refused: null } : { accepted });
  }

  endRun({ spent: run, ...answered }: AnsweredRun): void {
    const { spent: totals = nothingSpent } = this.carried;
    const model = run.model ?? totals.model;
    const ms = (totals.ms ?? 0) + (run.ms ?? 0);
    const together = {
      turns: totals.turns + run.turns,
      spend: addSpend(totals.spend, run.spend),
      ...(ms > 0 && { ms }),
    };
    this.set({ ...answered, spent: { ...together, ...present({ model }) } });
  }

  /**
   * Counts agents that ended too late for the run that had started them (L69), and work after a run
   * (L80).
   */
  bill(late: readonly LateBill[], more: Pick<CarriedFacts, 'suggestion'>): void {
    this.set({ ...billLate(this.carried, late), ...more });
  }

  /**
   * A person's message came to a run that ends of agents had opened: the prompt begins there (L71).
   */
  beginPrompt({ turn, spend }: RunTaken): void {
    const { spent: totals = nothingSpent } = this.carried;
    this.set({ since: { ...totals, turns: totals.turns + turn, spend: addSpend(totals.spend, spend) } });
  }

  /** Entries were stored while no run was under way. */
  moveHead(head: Hash | null): void {
    this.set({ head });
  }

  /**
   * Options that messages bring to a run under way hold from the next run on: this run keeps its
   * own (L57).
   */
  bringOptions(messages: readonly BringsOptions[]): void {
    if (!messages.some((message) => message.options)) return;
    const { accepted, options, place } = this.carried;
    const brought = withOptions(options, messages);
    const refused = optionsSizeProblem(brought);
    // Options that were small enough one by one can be too large together.
    if (refused !== undefined) this.refuseOptions(refused);
    else {
      const withBudget = keepBudgetOf(brought, accepted ?? options);
      this.set({ accepted: withBudget, options: brought, place: keepPlaceUnlessGiven(place, messages) });
    }
  }

  /** The next run cannot open with the options that a message brought. */
  refuseOptions(why: string): void {
    this.set({ refused: why });
  }

  addSnips(entries: readonly number[]): void {
    this.set({ snips: [...new Set([...this.carried.snips, ...entries])].slice(0, MOST_SNIPS) });
  }

  /** Drops the snips that are on their way into the transcript (L7). */
  dropSnips(positions: readonly number[]): void {
    if (positions.length > 0) this.set({ snips: this.carried.snips.filter((entry) => !positions.includes(entry)) });
  }

  /** Drops staged short forms: the lost part may have staged them, and none of it is in context. */
  repair({ to, lost: loss }: Repair): void {
    this.set({ head: to, lost: loss, context: { ...this.carried.context, staged: [] } });
  }

  /**
   * The conversation goes on from an earlier head, or begins anew with null; short forms may be of
   * what is left behind (T6).
   */
  rewind(to: Hash | null, contextTokens: number): void {
    this.set({ head: to, context: { contextTokens, staged: [] } });
  }

  /** The files of the fork are in this folder (T10). */
  noteCheckedOut(folder: string): void {
    this.set({ checkOut: null, options: { ...this.carried.options, cwd: folder } });
  }

  /** Returns what a repair has lost, for the transcript, once. */
  takeLoss(): readonly Append[] {
    const { lost: loss = null } = this.carried;
    this.set({ lost: null });
    return loss === null ? [] : [{ kind: 'notice', notice: { kind: 'repaired', lost: loss } }];
  }

  private set(changes: Partial<CarriedFacts>): void {
    this.carried = { ...this.carried, ...changes };
  }
}
