// The agents of a session (L66–L71): how many it may have, what each is granted of what is left,
// and what they took, counted once: an agent reports when it has ended, however long ago its call
// was answered.
import type { AgentNews, AgentSpent, AgentWork, DelegatedReport, Grant } from '../contract/delegation.ts';
import { agentName, type CallKey, type SessionId } from '../contract/ids.ts';
import type { Left } from '../contract/loop.ts';
import { countProblem, type Granting, isNothing, isSome, leftFor, shareOf, sumOf, type Working } from './shares.ts';
import type { LateSpent } from './spent.ts';
import { AskList, type CarriedAsks } from './ask-list.ts';

/** The name of the tool whose calls start agents. */
const AGENT_TOOL = 'agent';

/**
 * Ended agents that have not reported, kept for what they took: beyond, the oldest are given up.
 */
const MOST_PAST = 100;

/** Those that have ended in the background whose answers can still be asked for (L71). */
const MOST_ENDED = 20;

/** Told of what happens to agents beside the calls that started them. */
export type AgentListener = {
  /** One in the background has ended. `key`: of its call. */
  readonly ended: (key: CallKey, news: AgentNews) => void;
  /** Its session was ended from outside. */
  readonly lost: (session: SessionId) => void;
  /** Any has ended, told once. */
  readonly over: (agent: Working, end: DelegatedReport['end']) => void;
};

export type AgentsCarry = {
  readonly working: readonly Working[];
  readonly started: number;
  readonly spent: readonly AgentSpent[];
  /** The grants of agents of runs before that were ended from outside: they never return. */
  readonly gone?: Left;
  /** Those of them of earlier prompts. */
  readonly goneEarlier?: Left;
  readonly ended?: readonly AgentNews[];
  /** The newest that have reported. */
  readonly counted?: readonly CallKey[];
  readonly asks?: CarriedAsks;
};

export class Agents {
  private readonly known: Map<CallKey, Working>;
  started: number;
  /** What ended agents took, as long as no run has counted it. */
  private spent: readonly AgentSpent[];
  /** The same of agents of runs before. */
  private late: readonly LateSpent[] = [];
  private gone: Left;
  private goneEarlier: Left;
  /** In the background, newest last. */
  private ended: readonly AgentNews[];
  private counted: readonly CallKey[];
  private readonly listener: AgentListener;
  readonly asks: AskList;
  /** Calls of the batch under way that may still start one: each is granted its share. */
  private expected = 0;

  constructor(
    carried: AgentsCarry = { working: [], started: 0, spent: [] },
    listener: AgentListener = { ended: () => {}, lost: () => {}, over: () => {} },
  ) {
    const { working, started, spent, gone = {}, goneEarlier = {}, ended = [], counted = [], asks = [] } = carried;
    this.gone = gone;
    this.goneEarlier = goneEarlier;
    this.ended = ended;
    this.counted = counted;
    this.listener = listener;
    this.asks = new AskList(asks);
    this.known = new Map(working.map((each) => [each.key, each]));
    this.started = started;
    this.spent = spent;
  }

  /** Absent without any. */
  get carry(): { readonly agents?: AgentsCarry } {
    const { started, spent, gone, goneEarlier, ended, counted, asks } = this;
    const working = [...this.known.values()];
    const more = {
      ...(isSome(gone) ? { gone } : {}),
      ...(isSome(goneEarlier) ? { goneEarlier } : {}),
      ...(ended.length > 0 ? { ended } : {}),
      ...(counted.length > 0 ? { counted } : {}),
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

  /** Also one whose end has been counted. */
  readonly knows = (key: CallKey): boolean => this.known.has(key) || this.counted.includes(key);

  /**
   * What agents of runs before took still counts when they report. `isAsked`: by a person's
   * message.
   */
  beginRun(isAsked = false): void {
    this.started = 0;
    this.enterRun();
    if (isAsked) this.beginPrompt();
  }

  /**
   * A person's message: the limits that it brings are not divided with agents of prompts before.
   */
  beginPrompt(): void {
    this.goneEarlier = this.gone;
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

  /** Granted by runs before, and not known to be left. */
  get reservedBefore(): Left {
    return sumOf([this.gone, ...this.granted(({ state }) => state === 'past')]);
  }

  /** The same, by runs since the last message of a person. */
  get reservedSince(): Left {
    const { usd, tokens } = sumOf([this.gone, ...this.granted((each) => each.state === 'past' && !each.earlier)]);
    const { usd: earlierUsd = 0, tokens: earlierTokens = 0 } = this.goneEarlier;
    return { usd: usd - earlierUsd, tokens: tokens - earlierTokens };
  }

  /**
   * Granted by the run under way to those in the background, also to one that was lost: it works on
   * beside them.
   */
  get reservedBeside(): Left {
    return sumOf(this.granted(({ state, background }) => state !== 'past' && background !== undefined));
  }

  /**
   * Granted by the run under way to those that a call waits for, or waited for: lost, or given up
   * before they had ended.
   */
  get reservedByCalls(): Left {
    return sumOf(this.granted(({ state, background }) => state !== 'past' && background === undefined));
  }

  private granted(counts: (each: Working) => boolean): readonly Left[] {
    return [...this.known.values()].filter(counts).map(({ granted }) => granted);
  }

  /** Of a run before: what it took will never be known. */
  private lose({ key, granted, earlier }: Working): void {
    this.known.delete(key);
    this.gone = sumOf([this.gone, granted]);
    if (earlier) this.goneEarlier = sumOf([this.goneEarlier, granted]);
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
    const problem = countProblem(this, { does, most, background: work.background === true });
    if (problem !== null) return problem;
    const left = leftFor(run, this.spent, sumOf(this.granted((each) => each.state !== 'past')));
    const granted = shareOf(left, shares);
    if (isNothing(granted) || (run.leftMs !== null && run.leftMs <= 0))
      return 'Not run: nothing is left of the budget of this run that an agent could be given.';
    this.started += 1;
    const background = work.background ? { background: run.now } : {};
    const { config } = run.snapshot;
    this.known.set(key, { key, session, type, title, does, granted, config, state: 'open', ...background });
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
    if (each.state !== 'lost') this.listener.over(each, end);
    this.tellEnd(each, end);
    if (end.kind === 'agent') {
      const { session, type, title, earlier } = each;
      const ended = { session, type, title, spend: end.spend };
      this.known.delete(key);
      this.counted = [...this.counted, key].slice(-MOST_PAST);
      if (each.state === 'past') this.late = [...this.late, { ...ended, ...(earlier && { earlier }) }];
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
  takeLate(idle: boolean): readonly LateSpent[] {
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
}
