// Random worlds for the machine: rules, and for each move one of the ways it can end. Weighted so
// that walks are long.
import type {
  Call,
  CollapseResult,
  CompactionResult,
  GradeResult,
  ModelResult,
  PreparedCompaction,
  StopHooksRan,
} from '../../workflows/contract/activities.ts';
import { type ModelLimits, noSpend, type Rules } from '../../workflows/contract/loop.ts';
import type { CallResult, Event, PerformedMove, TakenPreparation } from '../../workflows/machine/events.ts';
import type { Preparing, RunState } from '../../workflows/machine/state.ts';
import { call, cutOff, hash, model, modelEvent, output, replied, rules, toolsRan } from './machine.ts';
import type { Random } from './random.ts';

export function anyRules({ nat, bool, pick }: Random): Rules {
  return {
    ...rules,
    maxTurns: 1 + nat(119),
    structured: bool(),
    stopHooks: bool(),
    batchSummaries: bool(),
    tokenBudget: pick<number | null>([null, 5_000, 60_000]),
    taskBudget: pick<number | null>([null, 400_000]),
    maxTokens: pick<number | null>([null, null, 1_000_000, 60_000]),
    timeoutMs: pick<number | null>([null, 100_000]),
    wrapUp: bool(),
    models: [anyModel(bool()), ...Array.from({ length: nat(2) }, () => anyModel(bool()))],
    compaction: { ...rules.compaction, enabled: nat(3) > 0, collapse: bool() },
  };
}

/** Every other run has a goal. */
export const anyGoal = ({ bool, nat }: Random): Pick<RunState, 'goal'> =>
  bool() ? { goal: { rubric: { kind: 'text', text: 'x' }, rounds: 1 + nat(3), graded: 0 } } : {};

function anyModel(summarizesItself: boolean): ModelLimits {
  return { ...model, ...(summarizesItself && { summarizesItself }) };
}

/** `preparing`: of the state, for what ends beside the move. */
export function anyEvent(from: Random, move: PerformedMove, { preparing }: Pick<RunState, 'preparing'>): Event {
  const event = anyEnd(from, move, preparing);
  const isBeside = event.kind === 'model' || event.kind === 'tools_ran';
  return isBeside && preparing && !preparing.made && from.nat(2) === 0
    ? { ...event, ...anyPrepared(from, preparing) }
    : event;
}

/** Sometimes of one that another boundary has overtaken. */
function anyPrepared({ nat, weighted }: Random, { iteration }: Preparing): TakenPreparation {
  const result = weighted<PreparedCompaction>([
    [4, () => ({ kind: 'prepared', boundary: hash('b'), before: nat(210_000), after: 10, spend: output(10) })],
    [1, () => ({ kind: 'failed', detail: 'x', spend: noSpend, hooks: [{ hook: 'preCompact', detail: 'y' }] })],
    [1, () => ({ kind: 'nothing', spend: noSpend })],
  ]);
  return { prepared: { iteration: nat(9) === 0 ? iteration - 1 : iteration, result } };
}

function anyEnd(from: Random, move: PerformedMove, preparing: RunState['preparing']): Event {
  switch (move.do) {
    case 'call_model':
      return anyModelEnd(from);
    case 'run_tools':
      return anyToolsRan(from, move.calls);
    case 'park':
      return from.nat(30) > 0 ? { kind: 'ready' } : { kind: 'stopped', stop: 'interrupt' };
    case 'compact':
      return { kind: 'compacted', result: anyCompaction(from, move), move, stop: null };
    case 'collapse':
      return { kind: 'collapsed', result: anyStaging(from), stop: null };
    case 'prepare_compaction':
      return { kind: 'preparing', begins: from.bool() };
    case 'await_compaction':
      return {
        kind: 'prepared',
        because: move.because,
        stop: from.nat(30) > 0 ? null : 'interrupt',
        ...(preparing && from.nat(9) > 0 ? anyPrepared(from, preparing) : {}),
      };
    case 'wait_at_budget':
      return { kind: 'waited_at_budget', head: hash('w'), append: [], stop: 'interrupt' };
    case 'grade_goal':
      return { kind: 'graded', result: anyGrade(from), stop: null };
    case 'run_stop_hooks':
      return { kind: 'hooks_ran', ran: { verdict: anyVerdict(from), failed: [] }, stop: null };
  }
}

function anyGrade({ weighted }: Random): GradeResult {
  const graded = { kind: 'graded', head: hash('g'), text: 'x', spend: output(10) } as const;
  return weighted<GradeResult>([
    [6, () => ({ ...graded, grade: 'not_met' })],
    [2, () => ({ ...graded, grade: 'met' })],
    [2, () => ({ ...graded, grade: 'rounds_spent' })],
    [1, () => ({ ...graded, grade: 'not_applicable' })],
    [2, () => ({ kind: 'parked', waitMs: 1, failures: 1, detail: '429', spend: noSpend })],
    [1, () => ({ kind: 'failed', detail: '401', spend: noSpend })],
  ]);
}

function anyModelEnd(from: Random): Event {
  const { nat, weighted } = from;
  const failing = (kind: 'too_long' | 'media_too_large') => () => modelEvent({ kind, detail: 'big', spend: noSpend });
  return weighted<Event>([
    [60, () => modelEvent(anyReply(from))],
    [12, () => modelEvent(cutOff(nat(150_000)))],
    [6, failing('too_long')],
    [2, failing('media_too_large')],
    [3, () => modelEvent({ kind: 'fallback', from: 'a', to: 'b', calls: [], detail: '529', spend: noSpend })],
    [3, () => modelEvent({ kind: 'parked', waitMs: 1, failures: 1, detail: '', spend: noSpend })],
    [1, () => modelEvent({ kind: 'failed', detail: '401', spend: noSpend })],
    [1, () => modelEvent(interrupted(anyCalls(from)), { stop: 'interrupt' })],
  ]);
}

function anyReply(from: Random): ModelResult {
  const { nat, bool } = from;
  const more = { spend: output(nat(2_000)), contextTokens: nat(210_000), ...(bool() ? { problem: 'bad' } : {}) };
  return replied(nat(3) === 0 ? [] : anyCalls(from), more);
}

function interrupted(calls: readonly Call[]): ModelResult {
  return { kind: 'interrupted', head: hash('i'), contextTokens: 100, spend: noSpend, calls };
}

function anyCalls({ nat, bool }: Random): Call[] {
  return Array.from({ length: nat(4) }, (_, index) => {
    const safe = bool();
    const facts = { tokens: nat(9_000) };
    const early = safe && bool() ? { outcome: facts } : nat(9) === 0 ? { ran: facts } : {};
    return call(index, { safe, signature: `s${nat(5)}`, ...early });
  });
}

function anyToolsRan(from: Random, calls: readonly Call[]): Event {
  const { nat, weighted } = from;
  const facts = calls.map(() =>
    weighted<CallResult['facts']>([
      [8, () => ({ tokens: nat(9_000) })],
      [4, () => ({ error: true })],
      [1, () => ({ modify: { cwd: '/w' } })],
    ]),
  );
  const event = toolsRan(calls, { facts, stop: nat(60) === 0 ? 'interrupt' : null, leftMs: nat(100_000) });
  // What ran early has its outcome already.
  const results = event.results.map((result, at) => {
    const early = calls[at]?.outcome;
    return early ? { item: null, facts: early } : result;
  });
  return { ...event, results };
}

function anyCompaction({ nat, weighted }: Random, move: Extract<PerformedMove, { do: 'compact' }>): CompactionResult {
  const spend = output(10);
  const { unlessFreed } = move;
  const marked = (freed: number) => ({ head: hash('m'), freed });
  const summary = unlessFreed === undefined || unlessFreed >= 0 ? 1 : 0;
  const shrink = unlessFreed === undefined ? 0 : 1;
  return weighted<CompactionResult>([
    [4 * summary, () => ({ kind: 'compacted', head: hash('c'), before: 0, after: nat(210_000), spend })],
    [3, () => ({ kind: 'failed', detail: 'x', spend })],
    [1 * summary, () => ({ kind: 'failed', detail: 'x', ...marked(nat(40_000)), spend })],
    [3 * shrink, () => ({ kind: 'shrunk', ...marked(nat(60_000)), spend })],
    [1 * shrink, () => ({ kind: 'unshrunk', tokens: nat(200_000), spend })],
    [1, () => ({ kind: 'as_is', tokens: nat(200_000), spend })],
    [1 * summary, () => ({ kind: 'parked', waitMs: 1, failures: 1, detail: '', spend })],
  ]);
}

function anyStaging({ nat }: Random): CollapseResult {
  if (nat(2) === 0) return { kind: 'failed', detail: 'x', spend: noSpend };
  if (nat(3) === 0) return { kind: 'shrunk', head: hash('m'), freed: nat(60_000), spend: noSpend };
  const savings = Array.from({ length: nat(4) }, () => nat(20_000));
  return { kind: 'staged', head: hash('s'), savings, spend: noSpend };
}

function anyVerdict({ pick }: Random): StopHooksRan['verdict'] {
  const blocked = { kind: 'blocked', text: 'no' } as const;
  return pick<StopHooksRan['verdict']>([blocked, blocked, { kind: 'passed' }, { kind: 'prevented', detail: 'stop' }]);
}
