// A session between its runs: what it is, its phase as others see it, and how it is stopped. One
// per workflow run, never shared.
import { CancellationScope, workflowInfo } from '@temporalio/workflow';
import type { CallModel, SessionActivities } from '../contract/activities.ts';
import type { SessionId } from '../contract/ids.ts';
import type { StopCause } from '../contract/loop.ts';
import type { Phase, RunSummary, UserMessage } from '../contract/session.ts';
import { Approvals } from '../updates/approvals.ts';
import type { RunLimits } from '../updates/run-limits.ts';
import { AskedOnce } from '../updates/asked-once.ts';
import { PassedOverLog } from '../updates/passed-over-log.ts';
import { Elicitations } from '../updates/elicitations.ts';
import { SteeredLog } from '../updates/steered-log.ts';
import { changesDeed } from '../contract/steered.ts';
import { Beside, type Suggestion } from '../run/beside.ts';
import { Told } from '../told/face.ts';
import { Delegations } from '../delegated/delegations.ts';
import type { Granting } from '../delegated/shares.ts';
import type { Billed } from '../delegated/spent.ts';
import { Asks } from '../delegated/asks.ts';
import { Pauses } from '../delegated/pauses.ts';
import { newsMessage } from '../delegated/background.ts';
import { createPorts } from '../ports.ts';
import { carriable, Inbox } from './inbox.ts';
import type { RunState } from '../machine/state.ts';
import { Alerts } from '../told/alerts.ts';
import { memoOf, nowOf, partsOf } from './session-facts.ts';
import { Facts, type Carry, type ResumedInput, type ToolsCarry } from './session-state.ts';

/**
 * The run in progress. `tools`: calls that were open at a handover, until they are taken up.
 * `models`: their names, once it has opened.
 */
type LiveRun = { state: RunState; tools: ToolsCarry | null; parkedUntil: number | null; models?: readonly string[] };

export class Session {
  readonly id = workflowInfo().workflowId as SessionId;
  readonly input: ResumedInput;
  readonly inbox: Inbox;
  readonly approvals: Approvals;
  readonly delegations: Delegations;
  readonly asks = new Asks(this);
  readonly pauses: Pauses;
  readonly elicitations: Elicitations;
  readonly ports: SessionActivities;
  readonly beside: Beside;
  readonly told: Told;
  readonly alerts: Alerts;
  readonly facts: Facts;
  readonly steered: SteeredLog;
  readonly passedOver = new PassedOverLog();
  /** Why the last run did not open with what it was asked for. */
  refusedOptions: string | null = null;
  private live: LiveRun | null = null;
  private limits: RunLimits | null = null;
  /** Why the current run is being stopped; first cause wins. */
  private stopped: StopCause | null = null;
  private readonly root = CancellationScope.current();
  private scope = new CancellationScope();
  phase: Phase | null = null;
  /** The last run that others were told of. */
  private last: RunSummary | null = null;
  /** The run's end is decided, and is being stored. */
  private finishing = false;
  /** The model call under way. */
  calling: CallModel | null = null;
  /** How many of the oldest waiting messages were interrupted before a run took them. */
  private interrupted = 0;
  /** Set by the `resume` signal, cleared by whoever waits for it. */
  resumed = false;
  /** Both in this workflow run, for the handover's limits. */
  signals = 0;
  iterations = 0;

  constructor(input: ResumedInput, carry: Carry) {
    this.input = input;
    this.ports = createPorts(input.profile, () => this.facts.now.host ?? null);
    this.beside = new Beside(this.ports, (spend, more) => this.billLate(false, [{ spend, earlier: true }], more));
    this.inbox = new Inbox(carry.inbox);
    const { alerts = [], answered = [], steered, canceller, once, elicited, pauses, facts } = partsOf(carry);
    this.pauses = new Pauses(this, pauses);
    this.steered = new SteeredLog(steered, canceller, new AskedOnce(input.sealed !== undefined, once));
    this.elicitations = new Elicitations(elicited);
    void this.root.cancelRequested.catch(() => this.steered.cancelled());
    this.facts = new Facts(facts);
    // Before the handler: a stop that arrived during the handover is delivered as soon as it is
    // set.
    if (carry.run) this.beginRun({ ...carry.run });
    this.approvals = new Approvals(carry.run?.tools?.approvals ?? [], answered);
    this.delegations = new Delegations(carry, {
      ended: (key, news) => this.take(newsMessage(key, news)),
      lost: (agent) => this.asks.lost(agent),
      over: (agent, end) => this.alerts.agentEnded(agent, end, this.run?.state.iteration ?? 0),
    });
    this.told = new Told((withFacts) => memoOf(this.facts.now, nowOf(this), withFacts), input);
    this.alerts = new Alerts(this, alerts);
  }

  /** The run under way, as others see it. */
  get run(): Readonly<LiveRun> | null {
    return this.live;
  }

  /** The run that agents are started by. */
  get granting(): Granting | null {
    const { live, limits } = this;
    return live && limits && { state: live.state, snapshot: limits.snapshot, leftMs: limits.leftMs, now: Date.now() };
  }

  /** Null while no run is under way, and while the run ends. */
  get raisableLimits(): RunLimits | null {
    return this.finishing || this.stopCause !== null ? null : this.limits;
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
   * False: it changes nothing. With no run to stop it holds for what waits to open one; an
   * interrupt of an idle session does not.
   */
  stop(cause: StopCause): boolean {
    const over = !this.run || this.finishing;
    if (over && cause === 'interrupt') this.interrupted = this.inbox.count;
    if (over || this.stopped) return over && this.interruptWaits;
    this.stopped = cause;
    this.scope.cancel();
    return true;
  }

  /** Whether the waiting messages were interrupted before a run took them. */
  get interruptWaits(): boolean {
    return this.interrupted > 0;
  }

  /**
   * The messages that open the next run: of interrupted ones no others, for their run ends at once.
   */
  takeMessages(): { readonly messages: readonly UserMessage[]; readonly interrupted: boolean } {
    const interrupted = this.interruptWaits;
    const next = this.inbox.next();
    const messages = interrupted ? next.slice(0, this.interrupted) : next;
    this.inbox.remove(messages);
    if (interrupted) this.interrupted -= messages.length;
    return { messages, interrupted };
  }

  /** A fresh scope for the next run. A stop belongs to one run. */
  beginRun(run: LiveRun): void {
    this.live = run;
    this.stopped = null;
    this.finishing = false;
    this.scope = this.root.consideredCancelled ? this.root : new CancellationScope();
    this.pauses.ofRun(false);
  }

  /** The run has opened, or is taken up again: a model that nobody chose is known. */
  knowModels(models: readonly string[] = []): void {
    if (this.live) this.live.models = models;
    if (this.told.withFacts) this.told.change();
  }

  reach(state: RunState): void {
    if (this.live) this.live.state = state;
  }

  /** The calls that were open at a handover, for whoever goes on with them. */
  takeTools(): ToolsCarry | null {
    const tools = this.live?.tools ?? null;
    if (this.live) this.live.tools = null;
    return tools;
  }

  /** Milliseconds since the epoch; null when the run goes on. */
  park(until: number | null): void {
    if (this.live) this.live.parkedUntil = until;
  }

  finishRun(): void {
    this.finishing = true;
  }

  limitBy(limits: RunLimits): void {
    this.limits = limits;
  }

  endRun(): void {
    this.live = null;
    this.limits = null;
    this.stopped = null;
    this.billLate(true);
    this.pauses.ofRun(false);
  }

  /**
   * An agent may end long after the run that started it: then the session alone counts what it
   * took, as with `beside`. `over`: no call is made any more.
   */
  billLate(over = false, beside: readonly Billed[] = [], more: Suggestion = {}): void {
    const { delegations } = this;
    const late = delegations.agents.takeLate(this.live === null);
    const all = [...beside, ...late, ...(over ? delegations.takeUnclaimed() : [])];
    if (all.length === 0) return;
    this.facts.bill(all, more);
    this.told.change();
  }

  /**
   * Seen from outside by search attribute and memo: changes with the phase and the run, not with
   * every turn.
   */
  enter(phase: Phase): void {
    const { last } = this.facts.now;
    if (phase === this.phase && last === this.last) return;
    this.phase = phase;
    this.last = last;
    this.told.change();
  }

  /** False: nothing runs that could wait. */
  goOn(): boolean {
    this.resumed = true;
    return this.run !== null;
  }

  take(sent: UserMessage): void {
    const { message, refused } = carriable(sent);
    if (!this.inbox.push(message)) return;
    if (refused !== undefined) this.facts.refuseOptions(refused);
    const deed = message.options ? changesDeed(message.options, this.facts.now.options) : null;
    if (deed) this.steered.note(deed, message);
    if (message.now) this.stop('message');
  }
}
