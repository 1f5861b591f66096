// Builders for tests of the machine: the smallest value that means what its name says.
import type { Call, ModelResult } from '../../workflows/contract/activities.ts';
import type { CallKey, Hash, MessageId } from '../../workflows/contract/ids.ts';
import {
  noSpend,
  noUsage,
  type ModelLimits,
  type ModelPrice,
  type Rules,
  type Spend,
} from '../../workflows/contract/loop.ts';
import { present } from '../../workflows/contract/present.ts';
import type { UserMessage } from '../../workflows/contract/session.ts';
import { absorb } from '../../workflows/machine/absorb.ts';
import { decide } from '../../workflows/machine/decide.ts';
import type { CallResult, Event, Move, ToolsRan } from '../../workflows/machine/events.ts';
import { initialState, type RunState } from '../../workflows/machine/state.ts';

export const hash = (name: string): Hash => name.padEnd(64, '0') as Hash;

export const price: ModelPrice = { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 };

export const model: ModelLimits = { window: 200_000, outputCap: 8_000, raisedOutputCap: 64_000, price };

export const rules: Rules = {
  rulesVersion: 1,
  maxTurns: 500,
  maxBudgetUsd: null,
  maxTokens: null,
  timeoutMs: null,
  wrapUp: false,
  models: [model],
  outputCapFixed: false,
  maxOutputRecoveries: 3,
  maxSameFailures: 5,
  maxSameResults: 100,
  fixedTokens: 3_000,
  compaction: { enabled: true, collapse: true, warning: 0.7, critical: 0.85, maxFailures: 3, maxClose: 3 },
  tokenBudget: null,
  taskBudget: null,
  structured: false,
  maxStructuredRetries: 5,
  stopHooks: false,
  maxStopHookRounds: 8,
  batchSummaries: false,
  summarySpend: noSpend,
  afterStop: false,
  approvalMs: 1_000,
};

export function state(changes: Partial<RunState> = {}): RunState {
  return { ...initialState(hash('start'), []), ...changes };
}

export function userMessage(id: string): UserMessage {
  return { id: id as MessageId, body: { kind: 'text', text: id } };
}

export function call(index: number, changes: Partial<Call> = {}): Call {
  return { index, name: 'read', safe: true, signature: `read:${index}`, ...changes };
}

export const output = (tokens: number): Spend => ({ usd: 0, usage: { ...noUsage, output: tokens } });

export const usd = (amount: number): Spend => ({ ...noSpend, usd: amount });

const stored = (name: string) => ({ head: hash(name), contextTokens: 100, spend: noSpend });

export const replied = (
  calls: readonly Call[] = [],
  more: { cut?: true; spend?: Spend; problem?: string; textCall?: string; contextTokens?: number } = {},
): ModelResult => ({
  kind: 'message',
  ...stored('reply'),
  calls,
  ...more,
});

/** `own`: how many of them are the reply's. */
export const cutOff = (contextTokens = 100, own?: number): ModelResult => ({
  kind: 'cut_off',
  ...stored('cut'),
  contextTokens,
  ...present({ output: own }),
});

export function modelEvent(result: ModelResult, changes: { step?: number; stop?: 'interrupt' | 'cancel' } = {}): Event {
  return { kind: 'model', result, step: changes.step ?? 7, stop: changes.stop ?? null };
}

/** All calls ran; `facts` by position, else fine. */
export function toolsRan(
  calls: readonly Call[],
  changes: Partial<Omit<ToolsRan, 'kind' | 'calls' | 'results'>> & { facts?: readonly CallResult['facts'][] } = {},
): ToolsRan {
  const { facts = [], ...rest } = changes;
  const results = calls.map(({ index }, at) => ({
    item: { index, key: `key ${index}` as CallKey },
    facts: facts[at] ?? {},
  }));
  return { kind: 'tools_ran', calls, results, cut: false, stop: null, queued: [], snips: [], leftMs: null, ...rest };
}

/** What the machine does next about `event`. */
export function next(event: Event, from: Partial<RunState> = {}, limits: Partial<Rules> = {}): Move {
  const all = { ...rules, ...limits };
  return decide(absorb(state(from), all, event), all, event);
}
