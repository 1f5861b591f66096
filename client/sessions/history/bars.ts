// Shows how an iteration spent its time, as segments of a bar: from the steps of its history, or
// from the transcript alone if the server has forgotten them. Pure.
import { parseIdentity } from '../../../system/process/identity.ts';
import { showUnseen } from '../../../system/text.ts';
import { isUntimed } from '../../../store/live/tell.ts';
import type { Step } from './steps.ts';
import { formatCount, shortTime } from '../../units.ts';
import type { Iteration } from './iterations.ts';

/**
 * During a `gap` nothing ran: no worker took the work. `lost` is the work of a worker that was lost
 * with it. A `queue` is a short wait
 * for a worker that was busy. During a `retry` attempts failed and were backed off from.
 */
export type SegmentKind =
  'model' | 'tools' | 'context' | 'other' | 'waiting' | 'parked' | 'queue' | 'retry' | 'lost' | 'gap';

/** Times are in milliseconds since the epoch. */
export type BarSegment = {
  readonly kind: SegmentKind;
  readonly from: number;
  readonly to: number;
  readonly what: string;
};

export type Bar = {
  readonly of: Iteration;
  readonly segments: readonly BarSegment[];
  readonly from: number;
  readonly to: number;
  /** Processes that worked on it, in their order. */
  readonly workers: readonly string[];
  /** Number of attempts that died. */
  readonly died: number;
  readonly open: boolean;
};

/** Shows a worker of ours as `host 1234`; others choose their own names. */
export function workerName(identity: string): string {
  const known = parseIdentity(identity);
  return showUnseen((known ? `${known.host} ${known.pid}` : identity).slice(0, 60));
}

/** Shorter pauses belong to the server and the workflow. */
const PAUSE_MS = 200;
/** A worker that is there takes work within this time, unless it is busy for longer. */
const QUEUE_MS = 5_000;

const kinds: Readonly<Record<string, readonly [SegmentKind, string]>> = {
  callModel: ['model', 'the model'],
  findReply: ['model', 'a look for the model’s reply'],
  runTool: ['tools', 'a tool'],
  compact: ['context', 'a compaction'],
  prepareCompaction: ['context', 'a compaction beside the run'],
  collapse: ['context', 'short forms of old stretches'],
  summarizeBatch: ['other', 'a line about the batch'],
  runStopHooks: ['other', 'stop hooks'],
  gradeGoal: ['other', 'grading'],
};

/** Draws the bar of an iteration. Work that is not over lasts until `now`. */
export function barOf(iteration: Iteration, steps: readonly Step[], now: number): Bar {
  if (steps.length === 0) return barWithoutHistory(iteration);
  const segments: BarSegment[] = [];
  const add = (kind: SegmentKind, from: number, to: number, what: string): void => {
    if (to > from) segments.push({ kind, from, to, what: `${what}, ${shortTime(to - from)}` });
  };
  const [first] = steps;
  let end = first?.askedAt ?? 0;
  let before: Step | undefined;
  for (const step of steps) {
    if (step.askedAt > end) addPause(add, end, step, before);
    addStep(add, step, iteration, now);
    end = Math.max(end, step.endedAt ?? now);
    before = step;
  }
  const workers = [...new Set(steps.flatMap(({ worker }) => worker ?? []))];
  const died = steps.reduce((sum, { attempt }) => sum + attempt - 1, 0);
  const open = steps.some(({ endedAt }) => endedAt === null);
  return { of: iteration, segments, from: first?.askedAt ?? 0, to: end, workers, died, open };
}

type Add = (kind: SegmentKind, from: number, to: number, what: string) => void;

/** Adds the pause between two steps, in which nothing runs. */
function addPause(add: Add, from: number, step: Step, before: Step | undefined): void {
  if (step.decided) return add('waiting', from, step.askedAt, 'waiting for a decision');
  if (step.delegated) return add('tools', from, step.askedAt, 'carried out by the workflow');
  // The same step follows itself only after a wait that the provider asked for.
  if (before?.name === step.name && step.name !== 'runTool')
    return add('parked', from, step.askedAt, 'parked until it was asked again');
  addQueue(add, from, step.askedAt, 'the workflow');
}

/** Adds the time in which work waited to be taken. */
function addQueue(add: Add, from: number, to: number, what: string): void {
  if (to - from <= PAUSE_MS) return;
  if (to - from < QUEUE_MS) add('queue', from, to, `${what} waited for a worker`);
  else add('gap', from, to, `no worker took ${what}`);
}

function addStep(add: Add, step: Step, { reply }: Iteration, now: number): void {
  const { askedAt, beganAt, attempt, failure, lost: isLost, name, aliveUntil = askedAt } = step;
  const began = beganAt ?? now;
  const [kind, what] = kinds[name] ?? ['other', name];
  if (attempt > 1) {
    if (isLost || failure === null) {
      add('lost', askedAt, aliveUntil, `${what}, lost with its worker`);
      add('gap', aliveUntil, began, deathText(attempt - 1, failure));
    } else add('retry', askedAt, began, `${formatCount(attempt - 1, 'attempt')} failed: ${failure}`);
  }
  if (attempt === 1) addQueue(add, askedAt, began, what);
  if (beganAt === null) return;
  const end = step.endedAt ?? now;
  const at = reply?.entry.at ?? 0;
  if (kind === 'model' && hasRun(reply) && at > began && at < end) {
    add('model', began, at, what);
    add('tools', at, end, 'tools');
  } else add(kind, began, end, what);
}

const deathText = (died: number, failure: string | null): string =>
  `${died === 1 ? 'an attempt died' : `${died} attempts died`}${failure === null ? '' : `: ${failure}`}`;

/** Calls with an effect run in the activity of the reply. */
const hasRun = (reply: Iteration['reply']): boolean =>
  reply?.entry.message.content.some(({ type }) => type === 'tool_use') ?? false;

/** The transcript knows only when a reply was stored and how long each tool took. */
function barWithoutHistory(iteration: Iteration): Bar {
  const { reply, after } = iteration;
  const bar = { of: iteration, workers: [], died: 0, open: false };
  if (!reply) return { ...bar, segments: [], from: after, to: after };
  const { at } = reply.entry;
  const took = Math.max(0, ...[...reply.outcomes.values()].map(({ log }) => (isUntimed(log) ? 0 : log.duration)));
  const tools: BarSegment = { kind: 'tools', from: at, to: at + took, what: `the longest tool, ${shortTime(took)}` };
  return { ...bar, segments: took > 0 ? [tools] : [], from: at, to: at + took };
}
