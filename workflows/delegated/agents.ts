// The agents of a session (L66–L71): how many it may have, what each is granted of what is left, and what they took, counted once: an agent
// reports when it has ended, however long ago its call was answered.
import type { AgentNews, AgentSpent, AgentWork, DelegatedReport, Grant } from '../contract/delegation.ts';
import { agentName, type CallKey, type SessionId } from '../contract/ids.ts';
import { addSpend, noSpend, totalTokens, type Left, type RunSnapshot } from '../contract/loop.ts';
import { isNothing, shareOf, sumOf } from './grant.ts';
import { AskList, type CarriedAsks } from './asks.ts';
import { leftOf } from '../machine/limits.ts';
import type { RunState } from '../machine/state.ts';

/** The name of the tool whose calls start agents. */
const AGENT_TOOL = 'agent';

/** Ended agents that have not reported, kept for what they took: beyond, the oldest are given up. */
const MOST_PAST = 100;

/** Agents in the background at a time, and those that have ended whose answers can still be asked for (L71). */
const [MOST_BACKGROUND, MOST_ENDED] = [8, 20];

/** An agent that has not reported its end. */
export type Working = Omit<AgentSpent, 'spend'> & {
  readonly key: CallKey;
  /** What it is to do: an identical one is not started beside it (L68). */
  readonly does: string;
  readonly granted: Left;
  /** `lost`: ended from outside; what it took is not known, so that nothing of its grant returns. `past`: of a run before. */
  readonly state: 'open' | 'lost' | 'past';
  /** Milliseconds since the epoch: in the background since then (L71). */
  readonly background?: number;
  /** Its end is told by the call that asked for it. */
  readonly quiet?: boolean;
};

/** Told of what happens to agents beside the calls that started them. */
export type AgentListener = {
  /** One in the background has ended. `key`: of its call. */
  readonly ended: (key: CallKey, news: AgentNews) => void;
  /** Its session was ended from outside. */
  readonly lost: (session: SessionId) => void;
};

export type AgentsCarry = {
  readonly working: readonly Working[];
  readonly started: number;
  readonly spent: readonly AgentSpent[];
  /** The grants of agents of runs before that were ended from outside: they never return. */
  readonly gone?: Left;
  readonly ended?: readonly AgentNews[];
  readonly asks?: CarriedAsks;
};

/** The run that starts an agent: of its state and its limits the grant is made. */
export type Granting = {
  readonly state: RunState;
  readonly snapshot: RunSnapshot;
  /** Of the runtime limit; null without one. */
  readonly leftMs: number | null;
  /** Milliseconds since the epoch. */
  readonly now: number;
};

export class Agents {
  private readonly known: Map<CallKey, Working>;
  private started: number;
  /** What ended agents took, as long as no run has counted it. */
  private spent: readonly AgentSpent[];
  /** The same of agents of runs before. */
  private late: readonly AgentSpent[] = [];
  private gone: Left;
  /** In the background, newest last. */
  private ended: readonly AgentNews[];
  private readonly listener: AgentListener;
  readonly asks: AskList;
  /** Calls of the batch under way that may still start one: each is granted its share. */
  private expected = 0;

  constructor(
    carried: AgentsCarry = { working: [], started: 0, spent: [] },
    listener: AgentListener = { ended: () => {}, lost: () => {} },
  ) {
    const { working, started, spent, gone = {}, ended = [], asks = [] } = carried;
    this.gone = gone;
    this.ended = ended;
    this.listener = listener;
    this.asks = new AskList(asks);
    this.known = new Map(working.map((each) => [each.key, each]));
    this.started = started;
    this.spent = spent;
  }

  /** Absent without any. */
  get carry(): { readonly agents?: AgentsCarry } {
    const { started, spent, gone, ended, asks } = this;
    const working = [...this.known.values()];
    const more = {
      ...(isSome(gone) ? { gone } : {}),
      ...(ended.length > 0 ? { ended } : {}),
      ...(asks.carry.length > 0 ? { asks: asks.carry } : {}),
    };
    if (started === 0 && spent.length === 0 && working.length === 0 && Object.keys(more).length === 0) return {};
    return { agents: { working, started, spent, ...more } };
  }

  /** Those that may still report. */
  get working(): readonly Working[] {
    return [...this.known.values()].filter(({ state }) => state !== 'lost');
  }

  /** In the background, oldest first (L71). */
  get background(): readonly Working[] {
    return this.working.filter(({ background }) => background !== undefined);
  }

  /** One of those, or the end of one, by its id. */
  find(id: string): Working | AgentNews | undefined {
    return (
      this.background.find(({ session }) => agentName(session) === id) ?? this.ended.find(({ agent }) => agent === id)
    );
  }

  /** Whoever stops it is told its end, and nobody else. */
  hush(key: CallKey, quiet: boolean): void {
    const each = this.known.get(key);
    if (each) this.known.set(key, { ...each, quiet });
  }

  readonly knows = (key: CallKey): boolean => this.known.has(key);

  /** What agents of runs before took still counts when they report. */
  beginRun(): void {
    this.started = 0;
    if (this.background.length === 0) this.asks.clear();
    for (const [key, each] of this.known) {
      if (each.state === 'lost') this.lose(each);
      else this.known.set(key, { ...each, state: 'past' });
    }
    for (const each of this.working.slice(0, -MOST_PAST)) this.lose(each);
  }

  /** Granted by runs before, and not known to be left. */
  get reservedBefore(): Left {
    return sumOf([this.gone, ...this.granted(({ state }) => state === 'past')]);
  }

  /** Granted by the run under way to those in the background, also to one that was lost: it works on beside them. */
  get reservedBeside(): Left {
    return sumOf(this.granted(({ state, background }) => state !== 'past' && background !== undefined));
  }

  private granted(counts: (each: Working) => boolean): readonly Left[] {
    return [...this.known.values()].filter(counts).map(({ granted }) => granted);
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
    const problem = this.countProblem(does, most, work.background === true);
    if (problem !== null) return problem;
    const left = this.leftOf(run);
    const granted = shareOf(left, shares);
    if (isNothing(granted) || (run.leftMs !== null && run.leftMs <= 0))
      return 'Not run: nothing is left of the budget of this run that an agent could be given.';
    this.started += 1;
    const background = work.background ? { background: run.now } : {};
    this.known.set(key, { key, session, type, title, does, granted, state: 'open', ...background });
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
    this.asks.drop(each.session);
    this.tellEnd(each, end);
    if (end.kind === 'agent') {
      const { session, type, title } = each;
      const ended = { session, type, title, spend: end.spend };
      this.known.delete(key);
      if (each.state === 'past') this.late = [...this.late, ended];
      else this.spent = [...this.spent, ended];
    } else if (each.state === 'past') this.lose(each);
    else this.known.set(key, { ...each, state: 'lost' });
  }

  private tellEnd({ key, session, title, background, quiet }: Working, end: DelegatedReport['end']): void {
    if (end.kind !== 'agent') this.listener.lost(session);
    if (background === undefined || (end.kind !== 'agent' && end.kind !== 'failed')) return;
    const news: AgentNews = { agent: agentName(session), title, end };
    this.ended = [...this.ended, news].slice(-MOST_ENDED);
    if (!quiet) this.listener.ended(key, news);
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

  private countProblem(does: string, most: AgentWork['most'], background: boolean): string | null {
    const open = this.working.filter((each) => each.state === 'open' || each.background !== undefined);
    const same = open.find((each) => each.does === does);
    if (same) return `Not run: an agent with the same prompt and type is at work already (session ${same.session}).`;
    if (open.length >= most.open)
      return `Not run: ${open.length} agents are at work, and no more than ${most.open} may be at a time.`;
    if (background && this.background.length >= MOST_BACKGROUND)
      return `Not run: ${this.background.length} agents are at work in the background, and no more than ${MOST_BACKGROUND} may be at a time.`;
    if (this.started < most.perRun) return null;
    return `Not run: this run has started ${this.started} agents, and no more than ${most.perRun} are allowed.`;
  }

  /** Without what is reserved for others, and what they took that the run has not counted. */
  private leftOf({ state, snapshot: { rules } }: Granting): Left {
    const { usd, tokens } = leftOf(state, rules) ?? {};
    const spent = this.spent.reduce((sum, { spend }) => addSpend(sum, spend), noSpend);
    const reserved = sumOf(this.granted((each) => each.state !== 'past'));
    return {
      ...(usd === undefined ? {} : { usd: usd - (spent.usd ?? 0) - reserved.usd }),
      ...(tokens === undefined ? {} : { tokens: tokens - totalTokens(spent.usage) - reserved.tokens }),
    };
  }
}

const isSome = ({ usd = 0, tokens = 0 }: Left): boolean => usd > 0 || tokens > 0;
