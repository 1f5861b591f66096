// Sums up a transcript for the head and the inspector of its session: what was spent and on what,
// how its tools did, since when it runs. What was summed up before is kept while the transcript
// grows.
import { isUntimed, tasksAfter } from '../../client/faces/words.ts';
import type {
  Outcome,
  AgentCallRecord,
  ItemFold,
  OpenCalls,
  Items,
  ReplyItem,
  SessionSpend,
  Spend,
} from '../../client/faces/types.ts';
import { addSpend, noSpend } from '../../client/faces/contract.ts';
import {
  findAgentCalls,
  foldItems,
  takeCalls,
  isForked,
  sumSpend,
  isReply,
  countTouchedFiles,
} from '../../client/faces/turns.ts';
import { isUnderWay } from '../../client/faces/lists.ts';
import type { Standing } from '../feed/standing.tsx';

type ToolFacts = {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  /** Milliseconds; null where no call was timed. */
  readonly median: number | null;
};

type TranscriptFacts = {
  readonly spend: SessionSpend;
  /** Spend of all replies alone, in all runs. */
  readonly replies: Spend;
  /** Share of the newest run's prompts that came from the cache; null without any. */
  readonly cached: number | null;
  readonly tools: readonly ToolFacts[];
  readonly agents: readonly AgentCallRecord[];
  /** The number of files that calls or captures name. */
  readonly files: number;
  /** The task list, if the session has one (L83). */
  readonly tasks: string | null;
  /** When the newest run began and ended, in milliseconds since the epoch. */
  readonly begunAt: number | null;
  readonly endedAt: number | null;
  /** The number of runs, since a fork its own (T10). */
  readonly runs: number;
  readonly compactions: number;
  /** US dollars of all replies so far, at even steps; a price that is not known adds nothing. */
  readonly costs: readonly number[];
};

type Sums = {
  readonly open: OpenCalls;
  replies: Spend;
  /** Tokens that went into the model, by run. */
  readonly prompts: Map<number, { all: number; cached: number }>;
  run: number;
  runs: number;
  readonly tools: Map<string, ToolSums>;
  tasks: string | null;
  begunAt: number | null;
  endedAt: number | null;
  compactions: number;
  costs: Curve;
};

/** A sum as it grew: one point for each `step` additions. */
type Curve = { sum: number; count: number; step: number; readonly points: number[] };

const emptyCurve = (): Curve => ({ sum: 0, count: 0, step: 1, points: [] });

/** A curve has up to twice as many points. */
const POINTS = 24;

function addPoint(curve: Curve, value: number): void {
  curve.sum += value;
  curve.count += 1;
  if (curve.count % curve.step !== 0) return;
  curve.points.push(curve.sum);
  if (curve.points.length < 2 * POINTS) return;
  curve.step *= 2;
  for (let at = 0; at < POINTS; at += 1) curve.points[at] = curve.points[2 * at + 1] as number;
  curve.points.length = POINTS;
}

const pointsOf = ({ sum, count, step, points }: Curve): readonly number[] =>
  count % step === 0 ? [...points] : [...points, sum];

/** `times` are sorted. */
type ToolSums = { calls: number; failed: number; readonly times: number[] };

const sums: ItemFold<Sums> = {
  begin: () => ({
    open: new Map(),
    replies: noSpend,
    prompts: new Map(),
    run: 1,
    runs: 0,
    tools: new Map(),
    tasks: null,
    begunAt: null,
    endedAt: null,
    compactions: 0,
    costs: emptyCurve(),
  }),
  add(state, item) {
    const { entry } = item;
    state.run = item.run;
    state.tasks = tasksAfter(state.tasks, entry);
    if (isForked(item)) [state.replies, state.runs, state.costs] = [noSpend, 0, emptyCurve()];
    if (entry.kind === 'run_started') [state.begunAt, state.endedAt, state.runs] = [entry.at, null, state.runs + 1];
    if (entry.kind === 'run_ended') state.endedAt = entry.ended.at;
    if (entry.kind === 'boundary') state.compactions += 1;
    if (isReply(item)) addReply(state, item);
    const { asked: calls, ended: results } = takeCalls(state.open, item);
    for (const { name } of calls) toolOf(state, name).calls += 1;
    for (const { call, outcome } of results) addOutcome(toolOf(state, call.name), outcome);
  },
};

function addReply(state: Sums, { run, entry: { spend } }: ReplyItem): void {
  const { input, cacheRead, cacheWrite } = spend.usage;
  const prompts = state.prompts.get(run) ?? { all: 0, cached: 0 };
  prompts.all += input + cacheRead + cacheWrite;
  prompts.cached += cacheRead;
  state.prompts.set(run, prompts);
  state.replies = addSpend(state.replies, spend);
  addPoint(state.costs, spend.usd ?? 0);
}

function toolOf({ tools }: Sums, name: string): ToolSums {
  const tool = tools.get(name) ?? { calls: 0, failed: 0, times: [] };
  tools.set(name, tool);
  return tool;
}

function addOutcome(tool: ToolSums, { isError, log }: Outcome): void {
  if (isError) tool.failed += 1;
  if (isUntimed(log)) return;
  const { times } = tool;
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((times[middle] as number) <= log.duration) low = middle + 1;
    else high = middle;
  }
  times.splice(low, 0, log.duration);
}

/** An addition to the transcript costs what it adds. */
export function transcriptFacts({ all }: Pick<Items, 'all'>): TranscriptFacts {
  const { replies, costs, prompts, run, runs, tools, tasks, begunAt, endedAt, compactions } = foldItems(sums, all);
  const prompt = prompts.get(run);
  return {
    spend: sumSpend(all),
    replies,
    cached: prompt && prompt.all > 0 ? prompt.cached / prompt.all : null,
    tools: toolFacts(tools),
    agents: findAgentCalls(all),
    files: countTouchedFiles(all),
    tasks,
    begunAt,
    endedAt,
    runs,
    compactions,
    costs: pointsOf(costs),
  };
}

function toolFacts(tools: ReadonlyMap<string, ToolSums>): readonly ToolFacts[] {
  const median = (times: readonly number[]): number | null => times[Math.floor(times.length / 2)] ?? null;
  return [...tools]
    .map(([name, { calls, failed, times }]) => ({ name, calls, failed, median: median(times) }))
    .toSorted((one, other) => other.calls - one.calls);
}

/** Tells whether the run under way began with a prompt that the transcript does not have yet. */
export function isOpening({ seen: description, items }: Pick<Standing, 'seen' | 'items'>): boolean {
  const { begunAt, endedAt } = transcriptFacts(items);
  return isUnderWay(description) && (begunAt === null || endedAt !== null);
}
