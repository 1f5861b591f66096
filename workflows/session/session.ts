// A session: its parts, its phase as others see it, and how its run is stopped. Each workflow run
// makes one.
import { CancellationScope, condition, log, patched, workflowInfo } from '@temporalio/workflow';
import type { Append, CallModel, SessionActivities } from '../contract/activities.ts';
import { agentName, type Hash, type SessionId } from '../contract/ids.ts';
import type { RunSnapshot, StopCause } from '../contract/loop.ts';
import { LISTED_APPROVALS, type Phase, type RunSummary, type UserMessage } from '../contract/session.ts';
import { Approvals } from '../updates/approvals.ts';
import type { RunLimits } from '../updates/run-limits.ts';
import { AskedOnce, SteeredLog } from '../updates/steered-log.ts';
import { Elicitations } from '../updates/elicitations.ts';
import { changesAction } from '../contract/steered.ts';
import { SideWork, type Suggestion } from '../run/side-work.ts';
import { MemoWriter } from '../told/memo-writer.ts';
import { Delegations } from '../delegated/delegations.ts';
import type { GrantingRun, LateBill } from '../delegated/shares.ts';
import { Pauses } from '../delegated/pauses.ts';
import { newsMessage } from '../delegated/background.ts';
import { createPorts } from '../ports.ts';
import { withSessionBudget } from './budget.ts';
import { Hosting } from './hosting.ts';
import { Inbox, makeCarriable } from './inbox.ts';
import type { RunState } from '../machine/state.ts';
import { Alerts } from '../told/alerts.ts';
import { Webhooks } from '../told/webhooks.ts';
import { commitEntries } from '../run/commit-entries.ts';
import { Waits } from './waits.ts';
import { memoOf, sessionNow, splitCarry } from './session-facts.ts';
import { type Carry, Facts, type ResumedInput, type ToolsCarry } from './session-state.ts';
import type { AgentOrigin } from '../contract/delegation.ts';
import type { PassedOver, PendingApproval } from '../contract/people.ts';
import type { HostSession } from '../delegated/host-session.ts';
import { tellSession } from '../delegated/reports.ts';

/**
 * The run in progress. `tools`: calls that were open at a handover, until they are taken up.
 * `models`: the models' names, once the run has opened.
 */
type LiveRun = { state: RunState; tools: ToolsCarry | null; parkedUntil: number | null; models?: readonly string[] };

export class Session {
  readonly id = workflowInfo().workflowId as SessionId;
  readonly input: ResumedInput;
  readonly inbox: Inbox;
  readonly approvals: Approvals;
  readonly delegations: Delegations;
  readonly asks = new AskReporter(this);
  readonly pauses: Pauses;
  readonly elicitations: Elicitations;
  readonly hosting = new Hosting(this);
  readonly waits: Waits;
  readonly ports: SessionActivities;
  readonly sideWork: SideWork;
  readonly memoWriter: MemoWriter;
  readonly alerts: Alerts;
  readonly webhooks: Webhooks;
  readonly facts: Facts;
  readonly steered: SteeredLog;
  readonly passedOver = new PassedOverLog();
  /** Why the last run was refused. */
  refusedOptions: string | null = null;
  private live: LiveRun | null = null;
  private limits: RunLimits | null = null;
  /** The run that a handover carried, whose updates may come before it goes on. */
  private readonly carried: RunSnapshot | undefined;
  /** Why the current run is being stopped. The first cause wins. */
  private stopped: StopCause | null = null;
  private readonly root = CancellationScope.current();
  private scope = new CancellationScope();
  phase: Phase | null = null;
  /** The last run that the memo shows. */
  private last: RunSummary | null = null;
  /** The run's end is decided, and is being stored. */
  private finishing = false;
  /** The model call under way. */
  openModelCall: CallModel | null = null;
  /** How many of the oldest waiting messages were interrupted before a run took them. */
  private interrupted = 0;
  /** An update takes the session back; until it is done no run begins (T6). */
  isRewinding = false;
  /** The `resume` signal sets it; the waits that it ends clear it. */
  resumed = false;
  /** Counted in this workflow run, for the handover's limits. */
  signals = 0;
  iterations = 0;

  constructor(input: ResumedInput, carry: Carry) {
    this.input = input;
    this.ports = createPorts(input.profile, this.hosting);
    this.sideWork = new SideWork(this.ports, (spend, more) => this.billLate(false, [{ spend, earlier: true }], more));
    this.inbox = new Inbox(carry.inbox);
    const {
      alerts = [],
      webhooks,
      answered = [],
      steered,
      canceller,
      once,
      elicited,
      pauses,
      facts,
    } = splitCarry(carry);
    this.pauses = new Pauses(this, pauses);
    this.steered = new SteeredLog(steered, canceller, new AskedOnce(input.sealed !== undefined, once));
    this.elicitations = new Elicitations(elicited);
    void this.root.cancelRequested.catch(() => this.steered.noteCancelled());
    this.facts = new Facts(facts);
    // This must come before the handlers are set: a stop that arrived during the handover is
    // delivered as soon as they are.
    if (carry.run) this.beginRun({ ...carry.run });
    this.carried = carry.run?.snapshot;
    this.waits = new Waits(this, carry.run?.tools?.waits);
    this.approvals = new Approvals(carry.run?.tools?.approvals ?? [], answered);
    this.delegations = new Delegations(carry, {
      onBackgroundEnd: (key, news) => this.receiveMessage(newsMessage(key, news)),
      onLost: (agent) => this.asks.tellLost(agent),
      onEnd: (agent, end) => this.alerts.alertAgentEnd(agent, end, this.run?.state.iteration ?? 0),
    });
    this.memoWriter = new MemoWriter(input, {
      memo: (withFacts) => memoOf(this.facts.now, sessionNow(this), withFacts),
      onWrite: () => this.webhooks.look(),
    });
    this.alerts = new Alerts(this, alerts);
    this.webhooks = new Webhooks(this, webhooks);
  }

  /** The run under way, as others see it. */
  get run(): Readonly<LiveRun> | null {
    return this.live;
  }

  /** The run under way, as it grants shares of its limits to agents. Null without one. */
  get granting(): GrantingRun | null {
    const { live, limits } = this;
    if (!live || !limits) return null;
    const snapshot = { ...limits.snapshot, rules: withSessionBudget(limits.snapshot.rules, this) };
    return { state: live.state, snapshot, leftMs: limits.leftMs, now: Date.now() };
  }

  /**
   * The limits and rules that a person may change; null while no run is under way, and while the
   * run ends.
   */
  get changeableLimits(): RunLimits | null {
    return this.finishing || this.stopCause !== null ? null : this.limits;
  }

  /** Whether the run under way stores which of its calls wait (G37). */
  get recordsWaits(): boolean {
    const { rules } = this.limits?.snapshot ?? this.carried ?? {};
    return rules?.recordWaits === true;
  }

  /** Whether it stores, too, which agents of its roster have begun (G68). */
  get recordsThreads(): boolean {
    const { rules } = this.limits?.snapshot ?? this.carried ?? {};
    return rules?.recordThreads === true;
  }

  commit(head: Hash | null, append: readonly Append[]): Promise<Hash | null> {
    return commitEntries(this, head, append);
  }

  get isFinishing(): boolean {
    return this.finishing;
  }

  /** The scope of the current run: cancelled by a stop, and with the workflow. */
  get runScope(): CancellationScope {
    return this.scope;
  }

  get stopCause(): StopCause | null {
    return this.stopped ?? (this.root.consideredCancelled ? 'cancel' : null);
  }

  /** Whether a handover can carry what waits, and the options. */
  get isCarriable(): boolean {
    return this.facts.areCarriable && this.inbox.isCarriable;
  }

  /**
   * Returns whether the stop changes anything. With no run to stop, it holds for the messages that
   * wait to open one; an interrupt of an idle session does nothing.
   */
  stop(cause: StopCause): boolean {
    const over = !this.run || this.finishing;
    if (over && cause === 'interrupt') this.interrupted = this.inbox.count;
    if (over || this.stopped) return over && this.interruptWaits;
    this.stopped = cause;
    this.scope.cancel();
    return true;
  }

  /** Whether a person has interrupted the run, and has not ended the session. */
  get isInterrupted(): boolean {
    return (this.stopped === 'interrupt' || this.stopped === 'message') && !this.root.consideredCancelled;
  }

  /** Whether the waiting messages were interrupted before a run took them. */
  get interruptWaits(): boolean {
    return this.interrupted > 0;
  }

  /**
   * Returns the messages that open the next run. Interrupted ones come alone, for their run ends at
   * once.
   */
  takeMessages(): { readonly messages: readonly UserMessage[]; readonly interrupted: boolean } {
    const interrupted = this.interruptWaits;
    const next = this.inbox.next();
    const messages = interrupted ? next.slice(0, this.interrupted) : next;
    this.inbox.remove(messages);
    if (interrupted) this.interrupted -= messages.length;
    return { messages, interrupted };
  }

  /** Begins a run in a fresh scope: a stop belongs to one run. */
  beginRun(run: LiveRun): void {
    this.live = run;
    this.stopped = null;
    this.finishing = false;
    this.scope = this.root.consideredCancelled ? this.root : new CancellationScope();
    this.pauses.setRunPaused(false);
  }

  /** The run has opened, or is taken up again: the default model's name is known now. */
  knowModels(models: readonly string[] = []): void {
    if (this.live) this.live.models = models;
    if (this.memoWriter.withFacts) this.memoWriter.markChanged();
  }

  setState(state: RunState): void {
    if (this.live) this.live.state = state;
  }

  /** Returns the calls that were open at a handover, once. */
  takeTools(): ToolsCarry | null {
    const tools = this.live?.tools ?? null;
    if (this.live) this.live.tools = null;
    return tools;
  }

  /** `until`: milliseconds since the epoch; null when the run goes on. */
  setParkedUntil(until: number | null): void {
    if (this.live) this.live.parkedUntil = until;
  }

  finishRun(): void {
    this.finishing = true;
  }

  setLimits(limits: RunLimits): void {
    this.limits = limits;
  }

  endRun(): void {
    this.live = null;
    this.limits = null;
    this.stopped = null;
    this.billLate(true);
    this.pauses.setRunPaused(false);
  }

  /**
   * Counts what ended after its run: an agent may end long after the run that started it, and work
   * that the loop does not wait for may too. `over`: no further call will be made.
   */
  billLate(over = false, others: readonly LateBill[] = [], more: Suggestion = {}): void {
    const { delegations } = this;
    const late = delegations.agents.takeLate(this.live === null);
    const all = [...others, ...late, ...(over ? delegations.takeUnclaimed() : [])];
    if (all.length === 0) return;
    this.facts.bill(all, more);
    this.memoWriter.markChanged();
  }

  /**
   * Memo and search attribute show the phase: they change with it and with the run, not with every
   * turn.
   */
  enterPhase(phase: Phase): void {
    const { last } = this.facts.now;
    if (phase === this.phase && last === this.last) return;
    this.phase = phase;
    this.last = last;
    this.memoWriter.markChanged();
  }

  /** Ends the waits of the run. Returns false when no run is under way. */
  endWaits(): boolean {
    this.resumed = true;
    return this.run !== null;
  }

  receiveMessage(sent: UserMessage): void {
    const { message, refused } = makeCarriable(sent);
    if (!this.inbox.push(message)) return;
    if (refused !== undefined) this.facts.refuseOptions(refused);
    const action = message.options ? changesAction(message.options, this.facts.now.options) : null;
    if (action) this.steered.note(action, message);
    if (message.now) this.stop('message');
  }
}

/**
 * Reports what waits for people in an agent's session to the root, where they see it and decide
 * (L70): the newest list, one after the other.
 */
class AskReporter {
  private readonly session: HostSession;
  /** The list as it was told last; null when this workflow run has told nothing. */
  private lastTold: string | null = null;
  private isTelling = false;

  constructor(session: HostSession) {
    this.session = session;
  }

  get isSettled(): boolean {
    return !this.isTelling;
  }

  change(): void {
    const { agent } = this.session.input;
    if (!agent || this.isTelling) return;
    this.isTelling = true;
    void this.tellAll(agent);
  }

  /** Empties the list of an agent whose session was ended from outside, and cannot do it itself. */
  tellLost(session: SessionId): void {
    const { agent } = this.session.input;
    if (agent && patched('perdure-agent-lost')) void tellSession(agent.root, { asks: [], session });
  }

  async awaitSettled(): Promise<void> {
    if (this.isTelling) await CancellationScope.nonCancellable(() => condition(() => this.isSettled));
  }

  private async tellAll({ root, path }: AgentOrigin): Promise<void> {
    for (let asks = this.nameAsks(path); JSON.stringify(asks) !== this.lastTold; asks = this.nameAsks(path)) {
      this.lastTold = JSON.stringify(asks);
      await tellSession(root, { asks, session: this.session.id });
    }
    this.isTelling = false;
  }

  /** Names the calls by their session, so that no two names are the same. */
  private nameAsks(path: readonly string[]): readonly PendingApproval[] {
    const { id: session, approvals } = this.session;
    const name = agentName(session);
    return approvals.pending
      .slice(0, LISTED_APPROVALS)
      .map((one) => ({ ...one, call: `${name}.${one.call}`, agent: { session, call: one.call, path } }))
      .map((one) => (one.question ? { ...one, question: {} } : one));
  }
}

/** How many are kept; a new workflow run begins with none. */
const MOST_KEPT = 10;

/** Lists the signals that did nothing, and why, for the person who has just sent one. */
class PassedOverLog {
  private kept: readonly PassedOver[] = [];

  get last(): readonly PassedOver[] {
    return this.kept;
  }

  note(what: PassedOver): void {
    log.warn(`a signal was passed over: ${what.why}`, { signal: what.signal });
    this.kept = [...this.kept, what].slice(-MOST_KEPT);
  }
}
