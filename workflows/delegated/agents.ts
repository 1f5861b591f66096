// The agents of a session (L66–L71): how many it may have, what share of the limits each is
// granted, and what they spent. Each is counted once, when it reports its end, however long ago its
// call was answered.
import type { AgentNews, AgentSpending, AgentWork, DelegatedReport, Grant } from '../contract/delegation.ts';
import { agentName, type CallKey, type SessionId } from '../contract/ids.ts';
import { addSpend, noSpend, type RemainingBudget, type Spend } from '../contract/loop.ts';
import {
  budgetForAgents,
  countProblem,
  type GrantingRun,
  hasAny,
  isUsedUp,
  type LateSpent,
  shareOf,
  sumBudgets,
  type WorkingAgent,
} from './shares.ts';
import { AskList, type CarriedAsks } from './ask-list.ts';
import { AGENT_TOOL } from '../contract/delegation.ts';
import { present } from '../contract/present.ts';

/**
 * Agents of earlier runs that have not reported, kept because they may still take something. Beyond
 * this many, the oldest are given up.
 */
const MOST_PAST = 100;

/** Ended agents of the background whose answers can still be asked for (L71). */
const MOST_ENDED = 20;

/** Hears of the ends of agents, also of those whose calls were answered long ago. */
export type AgentListener = {
  /** An agent in the background has ended. `key`: the key of its call. */
  readonly onBackgroundEnd: (key: CallKey, news: AgentNews) => void;
  /** The agent's session was ended from outside. */
  readonly onLost: (session: SessionId) => void;
  /** Any agent has ended; called once for each. */
  readonly onEnd: (agent: WorkingAgent, end: DelegatedReport['end']) => void;
};

export type AgentsCarry = {
  readonly working: readonly WorkingAgent[];
  readonly started: number;
  readonly spent: readonly AgentSpending[];
  /** The grants of earlier runs' agents that were ended from outside: they never return. */
  readonly gone?: RemainingBudget;
  /** The part of `gone` that agents of earlier prompts had. */
  readonly goneEarlier?: RemainingBudget;
  readonly ended?: readonly AgentNews[];
  /** The newest agents that have reported. */
  readonly counted?: readonly CallKey[];
  readonly asks?: CarriedAsks;
};

export class Agents {
  private readonly known: Map<CallKey, WorkingAgent>;
  started: number;
  /** The spending of ended agents of the run under way, until the run counts it. */
  private spending: readonly AgentSpending[];
  /** The spending of ended agents of earlier runs, until the session counts it. */
  private late: readonly LateSpent[] = [];
  private lostGrants: RemainingBudget;
  private lostEarlier: RemainingBudget;
  /** The ends of agents in the background, newest last. */
  private news: readonly AgentNews[];
  private counted: readonly CallKey[];
  private readonly listener: AgentListener;
  readonly asks: AskList;
  /** Calls of the batch under way that may still start an agent: each is granted its share. */
  private expected = 0;

  constructor(
    carried: AgentsCarry = { working: [], started: 0, spent: [] },
    listener: AgentListener = { onBackgroundEnd: () => {}, onLost: () => {}, onEnd: () => {} },
  ) {
    this.lostGrants = carried.gone ?? {};
    this.lostEarlier = carried.goneEarlier ?? {};
    this.news = carried.ended ?? [];
    this.counted = carried.counted ?? [];
    this.listener = listener;
    this.asks = new AskList(carried.asks ?? []);
    this.known = new Map(carried.working.map((each) => [each.key, each]));
    this.started = carried.started;
    this.spending = carried.spent;
  }

  /** Absent while there is nothing to carry. */
  get carry(): { readonly agents?: AgentsCarry } {
    const { started, spending, lostGrants, lostEarlier, news, counted, asks } = this;
    const working = [...this.known.values()];
    const more = {
      ...(hasAny(lostGrants) && { gone: lostGrants }),
      ...(hasAny(lostEarlier) && { goneEarlier: lostEarlier }),
      ...(news.length > 0 && { ended: news }),
      ...(counted.length > 0 && { counted }),
      ...(asks.carry.length > 0 && { asks: asks.carry }),
    };
    if (started === 0 && spending.length === 0 && working.length === 0 && Object.keys(more).length === 0) return {};
    return { agents: { working, started, spent: spending, ...more } };
  }

  /** The agents that may still report. */
  get working(): readonly WorkingAgent[] {
    return [...this.known.values()].filter(({ state }) => state !== 'lost');
  }

  /** Whether the session has, or has had, an agent. */
  get hasHadAny(): boolean {
    return this.known.size > 0 || this.counted.length > 0;
  }

  /** The agents in the background, oldest first (L71). */
  get background(): readonly WorkingAgent[] {
    return this.working.filter(({ background }) => background !== undefined);
  }

  /** Returns the agent in the background with this id, or its end. */
  find(id: string): WorkingAgent | AgentNews | undefined {
    return (
      this.background.find(({ session }) => agentName(session) === id) ?? this.news.find(({ agent }) => agent === id)
    );
  }

  /** Only the call that stops a quiet agent is told its end. */
  setQuiet(key: CallKey, quiet: boolean): void {
    const each = this.known.get(key);
    if (each) this.known.set(key, { ...each, quiet });
  }

  /** True also for an agent whose end has been counted. */
  readonly knows = (key: CallKey): boolean => this.known.has(key) || this.counted.includes(key);

  /**
   * Agents of earlier runs still count when they report. `isAsked`: a message of a person opens the
   * run.
   */
  beginRun(isAsked = false): void {
    this.started = 0;
    this.enterRun();
    if (isAsked) this.beginPrompt();
  }

  /**
   * A person's message begins a prompt: its limits are not shared with agents of earlier prompts.
   */
  beginPrompt(): void {
    this.lostEarlier = this.lostGrants;
    for (const [key, each] of this.known) if (each.state === 'past') this.known.set(key, { ...each, earlier: true });
  }

  private enterRun(): void {
    if (this.background.length === 0) this.asks.clear();
    for (const [key, each] of this.known) {
      if (each.state === 'lost') this.lose(each);
      else this.known.set(key, { ...each, state: 'past' });
    }
    for (const each of this.working.slice(0, -MOST_PAST)) this.lose(each);
  }

  /** The budgets that earlier runs granted, and that may still be spent. */
  get reservedBefore(): RemainingBudget {
    return sumBudgets([this.lostGrants, ...this.grantsOf(({ state }) => state === 'past')]);
  }

  /** The part of `reservedBefore` that runs since the last message of a person granted. */
  get reservedSince(): RemainingBudget {
    const { usd, tokens } = sumBudgets([
      this.lostGrants,
      ...this.grantsOf((each) => each.state === 'past' && !each.earlier),
    ]);
    const { usd: earlierUsd = 0, tokens: earlierTokens = 0 } = this.lostEarlier;
    return { usd: usd - earlierUsd, tokens: tokens - earlierTokens };
  }

  /**
   * The budgets that the run under way granted to agents in the background. A lost one counts too:
   * it may work on.
   */
  get reservedBeside(): RemainingBudget {
    return sumBudgets(this.grantsOf(({ state, background }) => state !== 'past' && background !== undefined));
  }

  /**
   * The budgets that the run under way granted to agents in the foreground that may still spend
   * them: their calls wait, they were lost, or they were given up before they had ended.
   */
  get reservedByCalls(): RemainingBudget {
    return sumBudgets(this.grantsOf(({ state, background }) => state !== 'past' && background === undefined));
  }

  private grantsOf(counts: (each: WorkingAgent) => boolean): readonly RemainingBudget[] {
    return [...this.known.values()].filter(counts).map(({ granted }) => granted);
  }

  /** Gives up an agent of an earlier run: what it took will never be known. */
  private lose({ key, granted, earlier }: WorkingAgent): void {
    this.known.delete(key);
    this.lostGrants = sumBudgets([this.lostGrants, granted]);
    if (earlier) this.lostEarlier = sumBudgets([this.lostEarlier, granted]);
  }

  /** The calls with these tool names are about to run. */
  expectCalls(names: readonly string[]): void {
    this.expected = names.filter((name) => name === AGENT_TOOL).length;
  }

  /**
   * Reserves a grant for the agent of a call. Returns a sentence when it may not start (L68, L69).
   */
  begin(key: CallKey, session: SessionId, work: AgentWork, run: GrantingRun): Grant | string {
    const { type, title, prompt, most } = work;
    const does = JSON.stringify([type, prompt]);
    const shares = Math.max(1, this.expected) + 1;
    this.expected = Math.max(0, this.expected - 1);
    const problem = countProblem(this, { does, most, background: work.background === true });
    if (problem !== null) return problem;
    const left = budgetForAgents(run, this.spending, sumBudgets(this.grantsOf((each) => each.state !== 'past')));
    const granted = shareOf(left, shares);
    if (isUsedUp(granted) || (run.leftMs !== null && run.leftMs <= 0))
      return 'Not run: nothing is left of the budget of this run that an agent could be given.';
    this.started += 1;
    const background = work.background ? { background: run.now } : {};
    const { config } = run.snapshot;
    this.known.set(key, { key, session, type, title, does, granted, config, state: 'open', ...background });
    return {
      ...present({ maxBudgetUsd: granted.usd, maxTokens: granted.tokens, timeoutMs: run.leftMs ?? undefined }),
    };
  }

  /** Counts an end once, whether or not its call still waits for it. */
  report({ key, end }: DelegatedReport): void {
    const each = this.known.get(key);
    if (!each) return;
    this.asks.drop(each.session);
    if (each.state !== 'lost') this.listener.onEnd(each, end);
    this.tellEnd(each, end);
    if (end.kind === 'agent') {
      const { session, type, title, earlier } = each;
      const agentSpending = { session, type, title, spend: end.spend };
      this.known.delete(key);
      this.counted = [...this.counted, key].slice(-MOST_PAST);
      if (each.state === 'past') this.late = [...this.late, { ...agentSpending, ...(earlier && { earlier }) }];
      else this.spending = [...this.spending, agentSpending];
    } else if (each.state === 'past') this.lose(each);
    else this.known.set(key, { ...each, state: 'lost' });
  }

  private tellEnd({ key, session, title, background, quiet }: WorkingAgent, end: DelegatedReport['end']): void {
    if (end.kind !== 'agent') this.listener.onLost(session);
    if (background === undefined || (end.kind !== 'agent' && end.kind !== 'failed')) return;
    const news: AgentNews = { agent: agentName(session), title, end };
    this.news = [...this.news, news].slice(-MOST_ENDED);
    if (!quiet) this.listener.onBackgroundEnd(key, news);
  }

  /**
   * Returns the spending that no run counts: of earlier runs' agents and, with no run under way, of
   * all. Each is returned once.
   */
  takeLate(idle: boolean): readonly LateSpent[] {
    const { late } = this;
    this.late = [];
    return [...late, ...((idle && this.takeSpent().agents) || [])];
  }

  /** The spending that `takeSpent` would return. */
  get uncounted(): Spend {
    return this.spending.reduce((sum, each) => addSpend(sum, each.spend), noSpend);
  }

  /** Returns the spending of the run's agents that have reported since the last time. */
  takeSpent(): { readonly agents?: readonly AgentSpending[] } {
    const { spending } = this;
    this.spending = [];
    return spending.length === 0 ? {} : { agents: spending };
  }
}
