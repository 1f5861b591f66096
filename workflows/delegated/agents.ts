// The agents of a session (L66–L70): how many it may have, what each is granted of what is left, and what they took, counted once: an agent
// reports when it has ended, however long ago its call was answered.
import type { PendingApproval } from '../contract/asked.ts';
import type { AgentSpent, AgentWork, DelegatedReport, Grant } from '../contract/delegation.ts';
import type { CallKey, SessionId } from '../contract/ids.ts';
import { addSpend, noSpend, totalTokens, type Left, type RunSnapshot } from '../contract/loop.ts';
import { isNothing, shareOf, sumOf } from './grant.ts';
import { isAsks } from './reports.ts';
import { leftOf } from '../machine/limits.ts';
import type { RunState } from '../machine/state.ts';

/** The name of the tool whose calls start agents. */
const AGENT_TOOL = 'agent';

/** Ended agents that have not reported, kept for what they took: beyond, the oldest are given up. */
const MOST_PAST = 100;

/** Sessions of agents in which something waits that are listed at a time. */
const MOST_ASKING = 50;

/** An agent that has not reported its end. */
type Working = Omit<AgentSpent, 'spend'> & {
  readonly key: CallKey;
  /** What it is to do: an identical one is not started beside it (L68). */
  readonly does: string;
  readonly granted: Left;
  /** `lost`: ended from outside; what it took is not known, so that nothing of its grant returns. `past`: of a run before. */
  readonly state: 'open' | 'lost' | 'past';
};

export type AgentsCarry = {
  readonly working: readonly Working[];
  readonly started: number;
  readonly spent: readonly AgentSpent[];
  /** The grants of agents of runs before that were ended from outside: they never return. */
  readonly gone?: Left;
  readonly asks?: readonly (readonly [session: SessionId, waiting: readonly PendingApproval[]])[];
};

/** The run that starts an agent: of its state and its limits the grant is made. */
export type Granting = {
  readonly state: RunState;
  readonly snapshot: RunSnapshot;
  /** Of the runtime limit; null without one. */
  readonly leftMs: number | null;
};

export class Agents {
  private readonly known: Map<CallKey, Working>;
  private started: number;
  /** What ended agents took, as long as no run has counted it. */
  private spent: readonly AgentSpent[];
  /** The same of agents of runs before. */
  private late: readonly AgentSpent[] = [];
  private gone: Left;
  /** What waits in the sessions of agents, by session: at the root alone (L70). */
  private readonly asks: Map<SessionId, readonly PendingApproval[]>;
  /** Calls of the batch under way that may still start one: each is granted its share. */
  private expected = 0;

  constructor({ working, started, spent, gone = {}, asks = [] }: AgentsCarry = { working: [], started: 0, spent: [] }) {
    this.gone = gone;
    this.asks = new Map(asks);
    this.known = new Map(working.map((each) => [each.key, each]));
    this.started = started;
    this.spent = spent;
  }

  /** Absent without any. */
  get carry(): { readonly agents?: AgentsCarry } {
    const { started, spent, gone, asks } = this;
    const working = [...this.known.values()];
    if (started === 0 && spent.length === 0 && working.length === 0 && !isSome(gone)) return {};
    const more = { ...(isSome(gone) ? { gone } : {}), ...(asks.size > 0 ? { asks: [...asks] } : {}) };
    return { agents: { working, started, spent, ...more } };
  }

  /** What waits in their sessions, oldest session first. */
  get asking(): readonly PendingApproval[] {
    return [...this.asks.values()].flat();
  }

  /** Whether what waits has changed. */
  hear(value: unknown): boolean {
    if (!isAsks(value)) return false;
    if (value.asks.length === 0) return this.asks.delete(value.session);
    if (this.asks.size >= MOST_ASKING && !this.asks.has(value.session)) return false;
    this.asks.set(value.session, value.asks);
    return true;
  }

  /** Those that may still report. */
  get working(): readonly Working[] {
    return [...this.known.values()].filter(({ state }) => state !== 'lost');
  }

  get areWorking(): boolean {
    return this.working.length > 0;
  }

  /** What agents of runs before took still counts when they report. */
  beginRun(): void {
    this.started = 0;
    this.asks.clear();
    for (const [key, each] of this.known) {
      if (each.state === 'lost') this.lose(each);
      else this.known.set(key, { ...each, state: 'past' });
    }
    for (const each of this.working.slice(0, -MOST_PAST)) this.lose(each);
  }

  /** Granted by runs before, and not known to be left. */
  get reservedBefore(): Left {
    return sumOf([this.gone, ...this.granted((state) => state === 'past')]);
  }

  private granted(counts: (state: Working['state']) => boolean): readonly Left[] {
    return [...this.known.values()].filter(({ state }) => counts(state)).map(({ granted }) => granted);
  }

  /** Of a run before: what it took will never be known. */
  private lose({ key, granted }: Working): void {
    this.known.delete(key);
    this.gone = sumOf([this.gone, granted]);
  }

  /** These calls are about to run. */
  expect(names: readonly string[]): void {
    this.expected = names.filter((name) => name === AGENT_TOOL).length;
  }

  /** Its grant is reserved; or a sentence that says why it is not started (L68, L69). */
  begin(key: CallKey, session: SessionId, work: AgentWork, run: Granting): Grant | string {
    const { type, title, prompt, most } = work;
    const does = JSON.stringify([type, prompt]);
    const shares = Math.max(1, this.expected) + 1;
    this.expected = Math.max(0, this.expected - 1);
    const problem = this.countProblem(does, most);
    if (problem !== null) return problem;
    const left = this.leftOf(run);
    const granted = shareOf(left, shares);
    if (isNothing(granted) || (run.leftMs !== null && run.leftMs <= 0))
      return 'Not run: nothing is left of the budget of this run that an agent could be given.';
    this.started += 1;
    this.known.set(key, { key, session, type, title, does, granted, state: 'open' });
    return {
      ...(granted.usd === undefined ? {} : { maxBudgetUsd: granted.usd }),
      ...(granted.tokens === undefined ? {} : { maxTokens: granted.tokens }),
      ...(run.leftMs === null ? {} : { timeoutMs: run.leftMs }),
    };
  }

  /** Counted once, whoever still waits for it. `detail`: it left no report. */
  report({ key, end }: DelegatedReport): void {
    const each = this.known.get(key);
    if (!each) return;
    this.asks.delete(each.session);
    if (end.kind === 'agent') {
      const { session, type, title } = each;
      const ended = { session, type, title, spend: end.spend };
      this.known.delete(key);
      if (each.state === 'past') this.late = [...this.late, ended];
      else this.spent = [...this.spent, ended];
    } else if (each.state === 'past') this.lose(each);
    else this.known.set(key, { ...each, state: 'lost' });
  }

  /** Those that no run counts: of runs before, and with no run under way all. Each once. */
  takeLate(idle: boolean): readonly AgentSpent[] {
    const { late } = this;
    this.late = [];
    return [...late, ...((idle && this.take().agents) || [])];
  }

  /** Those of the run under way that have reported since the last time. */
  take(): { readonly agents?: readonly AgentSpent[] } {
    const { spent } = this;
    this.spent = [];
    return spent.length === 0 ? {} : { agents: spent };
  }

  private countProblem(does: string, most: AgentWork['most']): string | null {
    const open = [...this.known.values()].filter(({ state }) => state === 'open');
    const same = open.find((each) => each.does === does);
    if (same) return `Not run: an agent with the same prompt and type is at work already (session ${same.session}).`;
    if (open.length >= most.open)
      return `Not run: ${open.length} agents are at work, and no more than ${most.open} may be at a time.`;
    if (this.started < most.perRun) return null;
    return `Not run: this run has started ${this.started} agents, and no more than ${most.perRun} are allowed.`;
  }

  /** Without what is reserved for others, and what they took that the run has not counted. */
  private leftOf({ state, snapshot: { rules } }: Granting): Left {
    const { usd, tokens } = leftOf(state, rules) ?? {};
    const spent = this.spent.reduce((sum, { spend }) => addSpend(sum, spend), noSpend);
    const reserved = sumOf(this.granted((each) => each !== 'past'));
    return {
      ...(usd === undefined ? {} : { usd: usd - (spent.usd ?? 0) - reserved.usd }),
      ...(tokens === undefined ? {} : { tokens: tokens - totalTokens(spent.usage) - reserved.tokens }),
    };
  }
}

const isSome = ({ usd = 0, tokens = 0 }: Left): boolean => usd > 0 || tokens > 0;
