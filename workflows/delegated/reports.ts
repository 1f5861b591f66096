// The reports of delegated work (L63): its workflow signals its end, with the call's key, to the
// session that waits for it. Anyone can signal, so reports are checked and shortened here.
import {
  CancellationScope,
  getExternalWorkflowHandle,
  isCancellation,
  patched,
  sleep,
  TemporalFailure,
} from '@temporalio/workflow';
import {
  DELEGATED_SIGNAL,
  LARGEST_RESULT,
  type AgentEnd,
  type AgentOrigin,
  type AgentPause,
  type AgentRun,
  type DelegatedEnd,
  type DelegatedReport,
  type WorktreeEnd,
} from '../contract/delegation.ts';
import type { AgentAsks } from '../contract/people.ts';
import { isHash, type SessionId } from '../contract/ids.ts';
import { addUsage, noSpend, noUsage, type Spend } from '../contract/loop.ts';
import { SIGNALS, type RunSummary } from '../contract/session.ts';
import { present } from '../contract/present.ts';
import type { ThreadNews } from '../contract/waits.ts';

/** How long a session waits for work that it has asked to stop (L64). */
export const STOP_MS = 5_000;

/**
 * A session that was handed over is not told when a child is terminated. It looks at growing
 * intervals, from the first of these to the last.
 */
export const FIRST_LOOK_MS = 60_000;
export const LAST_LOOK_MS = 3_600_000;

/** A report that was sent right before its workflow closed has arrived after this time. */
export const REPORT_MS = 10_000;

/** Characters of a sentence that says why work failed. */
export const DETAIL_LENGTH = 2_000;

/** Characters of JSON of an agent's end. */
const LARGEST_AGENT_END = 16 * 1024;

/** Characters of a call's key. */
const LONGEST_KEY = 200;

/** Characters of a workflow's id. */
const LONGEST_WORKFLOW_ID = 1_000;

export const LOST_END = {
  kind: 'failed',
  detail: 'the workflow that did it was ended from outside, and left no result',
} as const;

const KINDS: readonly string[] = ['done', 'failed', 'stopped', 'agent'] satisfies readonly DelegatedEnd['kind'][];

const WORKTREE_KINDS: readonly string[] = ['unchanged', 'committed', 'gone'] satisfies readonly WorktreeEnd['kind'][];

/**
 * Returns null for a value that has not the shape of a report. Shortens what is too long for a
 * session to carry.
 */
export function readReport(value: unknown): DelegatedReport | null {
  if (!isReport(value)) return null;
  const { key, end } = value;
  return { key, end: shortenEnd(end) };
}

function isReport(value: unknown): value is DelegatedReport {
  const { key, end } = (value ?? {}) as { readonly key?: unknown; readonly end?: { readonly kind?: unknown } };
  if (typeof key !== 'string' || key.length > LONGEST_KEY) return false;
  if (typeof end?.kind !== 'string' || !KINDS.includes(end.kind)) return false;
  const { cut = '', detail, ended: hasEnded } = end as { readonly [Key in 'cut' | 'detail' | 'ended']?: unknown };
  if (end.kind === 'done') return typeof cut === 'string';
  if (end.kind === 'failed') return typeof detail === 'string';
  if (end.kind === 'stopped') return typeof hasEnded === 'boolean';
  return isAgentEnd(end);
}

function shortenEnd(end: DelegatedEnd): DelegatedEnd {
  switch (end.kind) {
    case 'done':
      return shortenResult(end.cut ?? JSON.stringify(end.result), end);
    case 'failed':
      return { kind: 'failed', detail: end.detail.slice(0, DETAIL_LENGTH) };
    case 'stopped':
      return { kind: 'stopped', ended: end.ended };
    case 'agent':
      return shortenAgentEnd(end);
    default:
      return end;
  }
}

/** `json`: the result, if there is one. */
function shortenResult(
  json: string | undefined,
  { result, cut }: Extract<DelegatedEnd, { kind: 'done' }>,
): DelegatedEnd {
  if (cut !== undefined || (json?.length ?? 0) > LARGEST_RESULT)
    return { kind: 'done', cut: json!.slice(0, LARGEST_RESULT) };
  return { kind: 'done', ...present({ result }) };
}

function shortenAgentEnd(end: AgentEnd): AgentEnd {
  const shorter = end.run ? { ...end, run: { ...end.run, terminal: shortenTerminal(end.run.terminal) } } : end;
  return JSON.stringify(shorter).length > LARGEST_AGENT_END ? keepSpendOnly(end) : shorter;
}

/** Anyone may have written it, so its texts are checked too. */
function shortenTerminal(terminal: AgentRun['terminal']): AgentRun['terminal'] {
  const detail: unknown = 'detail' in terminal ? terminal.detail : null;
  return typeof detail === 'string'
    ? ({ ...terminal, detail: detail.slice(0, DETAIL_LENGTH) } as typeof terminal)
    : terminal;
}

/**
 * Keeps the spending of an agent, which counts however little else of its end can be kept (L69).
 */
export function keepSpendOnly({ session, spend: { usage, usd } }: AgentEnd): AgentEnd {
  return { kind: 'agent', session, run: null, spend: { usage: addUsage(noUsage, usage), usd } };
}

/** Checks the numbers, which are added up, and the run, which is looked up. */
function isAgentEnd(end: object): boolean {
  const { session, run, spend, worktree } = end as { readonly [Key in keyof AgentEnd]?: unknown };
  const { usage, usd } = (spend ?? {}) as { readonly usage?: object; readonly usd?: unknown };
  const {
    run: n,
    terminal,
    head,
  } = (run ?? { run: 1, terminal: { reason: '' }, head: null }) as {
    readonly [Key in keyof AgentRun]?: unknown;
  };
  const isCount = (value: unknown): boolean => Number.isFinite(value) && Number(value) >= 0;
  const reason: unknown = (terminal as { readonly reason?: unknown } | undefined)?.reason;
  return (
    typeof session === 'string' &&
    session.length <= LONGEST_WORKFLOW_ID &&
    Object.keys(noUsage).every((kind) => isCount((usage as Readonly<Record<string, unknown>> | undefined)?.[kind])) &&
    (usd === null || isCount(usd)) &&
    isCount(n) &&
    typeof reason === 'string' &&
    (head === null || isHash(head)) &&
    (worktree === undefined || isWorktreeEnd(worktree))
  );
}

/** Checks what is used; the rest is only shown. */
function isWorktreeEnd(value: unknown): boolean {
  const { kind, detail } = (value ?? {}) as { readonly kind?: unknown; readonly detail?: unknown };
  return kind === 'kept' ? typeof detail === 'string' : WORKTREE_KINDS.includes(kind as string);
}

/** Tells the parent of an agent that is about to close, once. */
export async function reportToParent(
  { key, parent }: AgentOrigin,
  session: SessionId,
  last: RunSummary | null,
  { spend = noSpend, worktree }: { readonly spend?: Spend | undefined; readonly worktree: WorktreeEnd | null },
): Promise<void> {
  const end: AgentEnd = { kind: 'agent', session, run: last && agentRunOf(last), spend, ...(worktree && { worktree }) };
  const report: DelegatedReport = { key, end };
  await tellSession(parent, report);
}

/** Milliseconds until a session that takes no signals now is told again; the pause doubles. */
const TELL_AGAIN_MS = 5_000;

/** Signals a session until the signal is taken. A session that is over is not told. */
export async function tellSession(
  session: SessionId,
  news: DelegatedReport | AgentAsks | AgentPause | ThreadNews,
): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    for (let pause = TELL_AGAIN_MS; ; pause = Math.min(2 * pause, LAST_LOOK_MS)) {
      try {
        return await getExternalWorkflowHandle(session).signal(DELEGATED_SIGNAL, news);
      } catch (error) {
        if (isGoneError(error)) return;
      }
      await sleep(pause);
    }
  });
}

/** The words of Temporal's core for a workflow that is closed or never existed. */
const NOT_FOUND = /not found/i;

export function isNotFound(error: unknown): boolean {
  return error instanceof TemporalFailure && NOT_FOUND.test(error.message);
}

/**
 * A signal can fail although its workflow exists: a server lets a workflow take only so many until
 * it continues as new. Sessions of earlier releases took any failure for its end.
 */
function isGoneError(error: unknown): boolean {
  if (isCancellation(error) || !(error instanceof TemporalFailure)) throw error;
  return isNotFound(error) || !patched('perdure-not-gone');
}

function agentRunOf({ run, terminal, turns, head }: RunSummary): AgentEnd['run'] {
  return { run, terminal, turns, head };
}

/**
 * Asks by a signal, which a closed workflow does not take. The signal changes nothing: an agent is
 * sent an empty report, because `resume` would end a wait of it.
 */
export async function isGone(child: string, agent: true | undefined): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(child).signal(agent ? DELEGATED_SIGNAL : SIGNALS.resume);
    return false;
  } catch (error) {
    return isGoneError(error);
  }
}

export async function askToStop(child: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(child).cancel();
  } catch (error) {
    // The child has ended; its report counts.
    if (!(error instanceof TemporalFailure)) throw error;
  }
}
