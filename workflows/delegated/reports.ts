// How work of a call ends (L63): its workflow tells the session that waits for it, by a signal with
// the call's key. Anyone can signal.
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

/** How long what was asked to stop is waited for (L64). */
export const STOP_MS = 5_000;

/**
 * A session that was handed over is not told when a child of it was terminated: it asks, less and
 * less often.
 */
export const [FIRST_LOOK_MS, LAST_LOOK_MS] = [60_000, 3_600_000];

/** A report that was sent right before its workflow closed arrives by then. */
export const REPORT_MS = 10_000;

/** Characters of a sentence that says why something failed. */
export const DETAIL_LENGTH = 2_000;

/** Characters of JSON of the end of an agent. */
const LARGEST_AGENT_END = 16 * 1024;

/** Characters of a call's key, and of a workflow's id. */
const [LONGEST_KEY, LONGEST_WORKFLOW_ID] = [200, 1_000];

export const LOST = {
  kind: 'failed',
  detail: 'the workflow that did it was ended from outside, and left no result',
} as const;

const KINDS: readonly string[] = ['done', 'failed', 'stopped', 'agent'] satisfies readonly DelegatedEnd['kind'][];

const WORKTREE_KINDS: readonly string[] = ['unchanged', 'committed', 'gone'] satisfies readonly WorktreeEnd['kind'][];

/** Null for anything else. What is too long for a session to carry is shortened. */
export function readReport(value: unknown): DelegatedReport | null {
  if (!isReport(value)) return null;
  const { key, end } = value;
  return { key, end: withinLimits(end) };
}

function isReport(value: unknown): value is DelegatedReport {
  const { key, end } = (value ?? {}) as { readonly key?: unknown; readonly end?: { readonly kind?: unknown } };
  if (typeof key !== 'string' || key.length > LONGEST_KEY) return false;
  if (typeof end?.kind !== 'string' || !KINDS.includes(end.kind)) return false;
  const { cut = '', detail, ended } = end as { readonly [Key in 'cut' | 'detail' | 'ended']?: unknown };
  if (end.kind === 'done') return typeof cut === 'string';
  if (end.kind === 'failed') return typeof detail === 'string';
  if (end.kind === 'stopped') return typeof ended === 'boolean';
  return isAgentEnd(end);
}

function withinLimits(end: DelegatedEnd): DelegatedEnd {
  switch (end.kind) {
    case 'done':
      return doneWithin(end.cut ?? JSON.stringify(end.result), end);
    case 'failed':
      return { kind: 'failed', detail: end.detail.slice(0, DETAIL_LENGTH) };
    case 'stopped':
      return { kind: 'stopped', ended: end.ended };
    case 'agent':
      return agentWithin(end);
    default:
      return end;
  }
}

/** `json`: of its result, which may have none. */
function doneWithin(json: string | undefined, { result, cut }: Extract<DelegatedEnd, { kind: 'done' }>): DelegatedEnd {
  if (cut !== undefined || (json?.length ?? 0) > LARGEST_RESULT)
    return { kind: 'done', cut: json!.slice(0, LARGEST_RESULT) };
  return { kind: 'done', ...(result === undefined ? {} : { result }) };
}

function agentWithin(end: AgentEnd): AgentEnd {
  const shorter = end.run ? { ...end, run: { ...end.run, terminal: shortTerminal(end.run.terminal) } } : end;
  return JSON.stringify(shorter).length > LARGEST_AGENT_END ? spendAlone(end) : shorter;
}

/** Anyone may have written it. */
function shortTerminal(terminal: AgentRun['terminal']): AgentRun['terminal'] {
  const detail: unknown = 'detail' in terminal ? terminal.detail : null;
  return typeof detail === 'string'
    ? ({ ...terminal, detail: detail.slice(0, DETAIL_LENGTH) } as typeof terminal)
    : terminal;
}

/** What it took counts, however little else of its end can be kept (L69). */
export function spendAlone({ session, spend: { usage, usd } }: AgentEnd): AgentEnd {
  return { kind: 'agent', session, run: null, spend: { usage: addUsage(noUsage, usage), usd } };
}

/** Its numbers are added up, and its run is looked up. */
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

/** The rest of it is only shown. */
function isWorktreeEnd(value: unknown): boolean {
  const { kind, detail } = (value ?? {}) as { readonly kind?: unknown; readonly detail?: unknown };
  return kind === 'kept' ? typeof detail === 'string' : WORKTREE_KINDS.includes(kind as string);
}

/** An agent that is about to close tells its parent, once. */
export async function reportToParent(
  { key, parent }: AgentOrigin,
  session: SessionId,
  last: RunSummary | null,
  { spend = noSpend, worktree }: { readonly spend?: Spend | undefined; readonly worktree: WorktreeEnd | null },
): Promise<void> {
  const end: AgentEnd = { kind: 'agent', session, run: last && runOf(last), spend, ...(worktree && { worktree }) };
  const told: DelegatedReport = { key, end };
  await tell(parent, told);
}

/**
 * Milliseconds after which a session that takes no signals now is told again, less and less often.
 */
const TELL_AGAIN_MS = 5_000;

/** Nobody is told when it is over. */
export async function tell(session: SessionId, told: DelegatedReport | AgentAsks | AgentPause): Promise<void> {
  await CancellationScope.nonCancellable(async () => {
    for (let pause = TELL_AGAIN_MS; ; pause = Math.min(2 * pause, LAST_LOOK_MS)) {
      try {
        return await getExternalWorkflowHandle(session).signal(DELEGATED_SIGNAL, told);
      } catch (error) {
        if (meansGone(error)) return;
      }
      await sleep(pause);
    }
  });
}

/** The words of Temporal's core for a workflow that is closed, or was never there. */
const NOT_FOUND = /not found/i;

export function isNotFound(error: unknown): boolean {
  return error instanceof TemporalFailure && NOT_FOUND.test(error.message);
}

/**
 * A signal can fail although its workflow is there: a server lets one take only so many until it
 * continues as new. Sessions of earlier releases took any failure for the end of it.
 */
function meansGone(error: unknown): boolean {
  if (isCancellation(error) || !(error instanceof TemporalFailure)) throw error;
  return isNotFound(error) || !patched('perdure-not-gone');
}

function runOf({ run, terminal, turns, head }: RunSummary): AgentEnd['run'] {
  return { run, terminal, turns, head };
}

/**
 * A workflow that is closed takes no signals. This one changes nothing: that of an agent would end
 * a wait of it by `resume`.
 */
export async function isGone(child: string, agent: true | undefined): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(child).signal(agent ? DELEGATED_SIGNAL : SIGNALS.resume);
    return false;
  } catch (error) {
    return meansGone(error);
  }
}

export async function askToStop(child: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(child).cancel();
  } catch (error) {
    // It has ended: what it reported counts.
    if (!(error instanceof TemporalFailure)) throw error;
  }
}
