// An agent's share of its parent's limits: what is left of it from run to run, which no message
// changes.
import { expect, test } from 'vitest';
import { Agents, type AgentsCarry } from '../../../workflows/delegated/agents.ts';
import { Delegations } from '../../../workflows/delegated/delegations.ts';
import {
  grantProblem,
  remainingGrant,
  withinGrant,
  withinPrompt,
  topUpForPrompt,
  withoutReserved,
  type GrantedSession,
} from '../../../workflows/delegated/grant.ts';
import { billLate } from '../../../workflows/delegated/shares.ts';
import type { AgentOrigin, AgentWork } from '../../../workflows/contract/delegation.ts';
import type { CallKey, SessionId } from '../../../workflows/contract/ids.ts';
import { noUsage, type Rules, type Spend } from '../../../workflows/contract/loop.ts';
import { endIfBudgetSpent } from '../../../workflows/machine/limits.ts';
import { initialState, type RunState } from '../../../workflows/machine/state.ts';
import { rules } from '../../support/machine.ts';

const spendOf = (tokens: number, usd: number): Spend => ({ usage: { ...noUsage, input: tokens }, usd });

const root = 's-root' as SessionId;

function agentSession(agents = new Agents(), spent?: GrantedSession['facts']['now']['spent']): GrantedSession {
  const grant = { maxBudgetUsd: 1, maxTokens: 1_000, timeoutMs: 60_000 };
  return {
    input: { agent: { root, grant } as AgentOrigin },
    facts: { now: spent ? { spent } : {} },
    delegations: { agents },
  };
}

const key = 'c.h.0' as CallKey;
const work = { kind: 'agent', type: 'general', title: 'T', most: { open: 8, perRun: 50 } } as AgentWork;

function begin(agents: Agents, limits: Partial<Rules> = {}, more: Partial<AgentWork> = {}): void {
  const snapshot = { config: 'x', rules: { ...rules, maxTokens: 800, ...limits } } as never;
  const granted = agents.begin(
    key,
    's-a' as SessionId,
    { ...work, ...more },
    {
      state: initialState(null, []),
      snapshot,
      leftMs: null,
      now: 0,
    },
  );
  if (typeof granted === 'string') throw new Error(granted);
}

const lost = { key, end: { kind: 'failed', detail: 'gone' } } as const;
const ended = (tokens: number) =>
  ({ key, end: { kind: 'agent', session: 's-a' as SessionId, run: null, spend: spendOf(tokens, 0) } }) as const;

test('what runs before took, and what their agents may still take, is no longer left (L69)', () => {
  const spent = { turns: 3, spend: spendOf(400, 0.25), ms: 50_000 };
  expect(remainingGrant(agentSession(new Agents(), spent))).toEqual({
    maxBudgetUsd: 0.75,
    maxTokens: 600,
    timeoutMs: 10_000,
  });
  const agents = new Agents();
  begin(agents);
  expect(remainingGrant(agentSession(agents)).maxTokens).toBe(1_000);
  agents.beginRun();
  expect(remainingGrant(agentSession(agents)).maxTokens).toBe(600);
  agents.report(ended(100));
  expect(remainingGrant(agentSession(agents)).maxTokens).toBe(1_000);
  expect(remainingGrant({ ...agentSession(), input: {} })).toEqual({});
});

test('the grant of an agent that was ended from outside never returns, over runs and handovers (L69)', () => {
  const carried = (agents: Agents): Agents =>
    new Agents(JSON.parse(JSON.stringify(agents.carry.agents)) as AgentsCarry);
  const before = new Agents();
  begin(before);
  before.report(lost);
  before.beginRun();
  const after = new Agents();
  begin(after);
  after.beginRun();
  after.report(lost);
  for (const agents of [before, after]) {
    agents.beginRun();
    expect(remainingGrant(agentSession(carried(agents))).maxTokens).toBe(600);
  }
});

test('an agent of a run before counts for the session and in no later run, once (L69)', () => {
  const agents = new Agents();
  begin(agents);
  agents.beginRun();
  agents.report(ended(100));
  agents.report(ended(100));
  expect(agents.takeSpent()).toEqual({});
  expect(agents.takeLate(false).map(({ spend }) => spend.usage.input)).toEqual([100]);
  expect(agents.takeLate(true)).toEqual([]);
  begin(agents);
  agents.report(ended(50));
  expect(agents.takeLate(false)).toEqual([]);
  expect(agents.takeSpent().agents).toHaveLength(1);
});

test('a run has the lower of its own limits and what is left of the grant (L51 L69)', () => {
  const own = { ...rules, maxBudgetUsd: 0.5, maxTokens: null, timeoutMs: 600_000, maxTurns: 7 };
  const rest = { maxBudgetUsd: 0.75, maxTokens: 0, timeoutMs: 10_000 };
  expect(withinGrant(own, rest)).toEqual({ ...own, maxTokens: 0, timeoutMs: 10_000 });
  expect(withinGrant(own, {})).toEqual(own);
});

test('a person cannot raise a limit of an agent beyond its grant, and turns are not granted (L51 L69)', () => {
  const session = agentSession(new Agents(), { turns: 1, spend: spendOf(400, 0) });
  expect(grantProblem({ maxTokens: 600, maxTurns: 1_000 }, session)).toBeUndefined();
  expect(grantProblem({ maxTokens: 601 }, session)).toMatch(
    /601 is more than the 600.*raise the limit of session s-root/,
  );
  expect(grantProblem({ maxTokens: 601 }, { ...session, input: {} })).toBeUndefined();
});

test('what agents in the background were granted is not for the run that works on beside them (L69 L71)', () => {
  const agents = new Agents();
  begin(agents, {}, { background: true });
  expect(withoutReserved({ ...rules, maxTokens: 800 }, agents.reservedBeside)).toMatchObject({ maxTokens: 400 });
  agents.report(ended(100));
  expect(withoutReserved(rules, agents.reservedBeside)).toBe(rules);
});

test('a run that ends at a limit names the one that was set, and what of it was kept for agents in the background (L51 L71)', () => {
  const within = withoutReserved({ ...rules, maxTokens: 800, maxBudgetUsd: 1 }, { usd: 0.4, tokens: 300 });
  const state = (spend: Spend) => ({ turn: 1, spend }) as RunState;
  expect(endIfBudgetSpent(state(spendOf(500, 0)), within)?.terminal).toEqual({
    reason: 'budget_exceeded',
    limitTokens: 800,
    spentTokens: 500,
    reservedTokens: 300,
  });
  expect(endIfBudgetSpent(state(spendOf(1, 0.6)), within)?.terminal).toEqual({
    reason: 'budget_exceeded',
    limitUsd: 1,
    spentUsd: 0.6,
    reservedUsd: 0.4,
  });
});

test('a run that ends of agents open shares no limit with what earlier prompts began (L71)', () => {
  const opened = { ...rules, maxTokens: 800, maxTurns: 10 };
  const agents = new Agents();
  begin(agents, {}, { background: true });
  const since = { turns: 4, spend: spendOf(200, 0) };
  const session = (spent = since, from = since) => ({
    ...agentSession(agents),
    facts: { now: { spent, since: from } },
  });
  agents.beginRun();
  expect(withinPrompt(opened, session())).toMatchObject({ maxTokens: 400, maxTurns: 10 });
  agents.beginRun(true);
  expect(withinPrompt(opened, session()).maxTokens).toBe(800);
  const carried = new Agents(JSON.parse(JSON.stringify(agents.carry.agents)) as AgentsCarry);
  for (const each of [agents, carried]) {
    each.report(ended(100));
    const late = each.takeLate(true);
    const billed = billLate({ spent: since, since }, late);
    expect(billed.spent?.spend.usage.input).toBe(300);
    expect(withinPrompt(opened, session(billed.spent, billed.since)).maxTokens).toBe(800);
  }
});

test('an agent of an earlier prompt that was ended from outside takes nothing from a later one (L69 L71)', () => {
  const opened = { ...rules, maxTokens: 800 };
  const agents = new Agents();
  begin(agents);
  agents.beginRun(true);
  agents.report(lost);
  agents.beginRun();
  expect(withinPrompt(opened, agentSession(agents)).maxTokens).toBe(800);
  expect(remainingGrant(agentSession(agents)).maxTokens).toBe(600);
});

test('a message to a run that ends of agents opened brings all limits of a prompt beside what the run has taken (L71)', () => {
  const whole = { maxTurns: 10, maxBudgetUsd: null, maxTokens: 800, timeoutMs: 60_000 };
  const taken = { turn: 2, spend: spendOf(150, 0), ms: 5_000 };
  expect(topUpForPrompt(whole, taken, {})).toEqual({ maxTurns: 12, maxTokens: 950, timeoutMs: 65_000 });
  expect(topUpForPrompt(whole, taken, { maxTokens: 900 }).maxTokens).toBe(900);
});

test('a report that comes before its call is carried over a handover, and counts where its call is not made again (L4 L69)', () => {
  const before = new Delegations();
  before.report(ended(100));
  const { early = [] } = JSON.parse(JSON.stringify(before.carry)) as Delegations['carry'];
  const after = new Delegations({ early });
  expect(after.takeUnclaimed().map(({ spend }) => spend.usage.input)).toEqual([100]);
  expect(after.takeUnclaimed()).toEqual([]);
  const made = new Delegations({ early });
  begin(made.agents);
  made.claimEarlyReport(key);
  made.report(ended(100));
  expect(made.takeUnclaimed()).toEqual([]);
  expect(made.agents.takeSpent().agents).toHaveLength(1);
});
