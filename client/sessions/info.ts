// Reads a session from its memo and its workflow's status; no worker has to be alive.
import type { WorkflowExecutionDescription, WorkflowExecutionInfo } from '@temporalio/client';
import { z } from 'zod';
import { querySources, type SessionFacts } from '../../workflows/contract/facts.ts';
import { FORK_FILES_KEY, FORK_KEY, type ForkedFrom, type ForkFiles } from '../../workflows/contract/fork.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { isSuggestion } from '../../store/view/suggestion.ts';
import { oneLine } from '../paint.ts';
import type { RunningState } from './running/running-row.ts';
import { formatMoment } from '../units.ts';
import { findUndecodable } from '../../workflows/contract/undecodable.ts';
import {
  CONFIGURATION_KEY,
  type Configuration,
  MEMO_KEY,
  type Phase,
  type SessionMemo,
  TASK_QUEUE,
} from '../../workflows/contract/session.ts';
import { isBadEnd } from '../../workflows/contract/visibility.ts';
import { CHANGES_ATTRIBUTE, unknownChanges } from '../../workflows/contract/changes.ts';

/** `open`, or how the workflow ended. A session ends by itself only as `cancelled` (L49). */
export type SessionStatus = 'open' | 'cancelled' | 'terminated' | 'failed' | 'timed_out' | 'completed';

/**
 * The phase that the session reports, or `waiting_worker` when it has work that no worker polls
 * for.
 */
export type SeenPhase = Phase | 'waiting_worker';

export type SessionInfo = Omit<SessionMemo, 'phase'> & {
  readonly phase: SeenPhase;
  readonly session: SessionId;
  readonly status: SessionStatus;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  readonly closedAt: number | null;
  /**
   * Id of the store that holds the session's content, set at the start. Absent when another client
   * than ours opened it.
   */
  readonly store?: string;
  /** Says why the memo cannot be read here, as the end of a sentence. */
  readonly unreadable?: string;
  /** Names the configuration whose workers alone may work on it; null means any staying worker. */
  readonly configuration: Configuration | null;
  readonly taskQueue: string;
  /** The session that a fork goes on from, and where (T10). */
  readonly forkedFrom?: ForkedFrom;
  /** The folder that a fork has of its own, and whether it is there. */
  readonly forkFiles?: ForkFiles;
  /** Set when a newer Perdure has worked on the session, so that this one cannot continue it. */
  readonly needsNewer?: true;
  /** Name of the session's host when a step waits for a worker there and none polls. */
  readonly waitsFor?: string;
  /** A look at the run under way; absent in lists that did not take one. */
  readonly running?: RunningState;
};

export type SessionDescription = SessionInfo & {
  /**
   * True when no worker has yet seen something that reached the session: the memo is about to
   * change.
   */
  readonly unseen: boolean;
};

const statuses: Readonly<Record<string, SessionStatus>> = {
  CANCELLED: 'cancelled',
  TERMINATED: 'terminated',
  FAILED: 'failed',
  TIMED_OUT: 'timed_out',
  COMPLETED: 'completed',
};

/**
 * Memo key for the time when the session began, set at the start and inherited by every
 * continue-as-new.
 */
export const STARTED_KEY = 'perdureStarted';
/** Memo key for the id of the store, set and inherited likewise. */
export const STORE_KEY = 'perdureStore';
/**
 * Memo key for the head in the file from which a session was imported, set and inherited likewise.
 */
export const IMPORTED_KEY = 'perdureImported';

const pending = z.object({
  call: z.string(),
  tool: z.string(),
  reason: z.string(),
  inputHash: z.string(),
  head: z.string(),
  index: z.number(),
  deadline: z.number(),
  askedAt: z.number().optional(),
  agent: z.object({ session: z.string(), call: z.string(), path: z.array(z.string()) }).optional(),
  question: z.object({}).optional(),
});
const answered = z.object({ call: z.string(), by: z.string(), at: z.number() });

const facts = z.object({
  model: z.string().optional(),
  turns: z.number(),
  tokens: z.number(),
  cents: z.number().nullable(),
  waitingSince: z.number().optional(),
  tags: z.record(z.string(), z.string()).optional(),
  agent: z.object({ type: z.string(), parent: z.string(), root: z.string(), depth: z.number() }).optional(),
  querySource: z.enum(querySources).optional().catch(undefined),
});

/** Any client can write a memo, so a foreign shape shows nothing rather than fails. */
const lastRun = z.looseObject({ run: z.number(), terminal: z.looseObject({ reason: z.string() }) });

const memoSchema = z.object({
  phase: z.enum(['running', 'waiting_approval', 'parked', 'idle', 'closed']),
  cwd: z.string(),
  title: z.string(),
  runs: z.number(),
  approvals: z.array(pending).optional(),
  answered: z.array(answered).optional(),
  parkedUntil: z.number().optional(),
  waits: z.number().optional(),
  atBudget: z.literal(true).optional().catch(undefined),
  background: z.number().optional(),
  head: z.string().nullable().catch(null),
  last: lastRun.nullable().catch(null),
  host: z.object({ id: z.string(), name: z.string() }).optional().catch(undefined),
  suggestion: z
    .object({ run: z.number(), text: z.string().refine(isSuggestion) })
    .optional()
    .catch(undefined),
  facts: facts.optional().catch(undefined),
});
const forkedFrom = z.object({ session: z.string(), position: z.number() });
const forkFiles = z.object({
  state: z.enum(['pending', 'done', 'refused']),
  folder: z.string(),
  branch: z.string().optional(),
  problem: z.string().optional(),
});
const configuration = z.object({ name: z.string().optional(), file: z.string().optional() });
const noMemo: SessionMemo = { phase: 'running', head: null, cwd: '', title: '', runs: 0, last: null };

export function sessionInfo(execution: WorkflowExecutionInfo | WorkflowExecutionDescription): SessionInfo {
  const { workflowId, status, memo, startTime, closeTime } = execution;
  const value = memo?.[MEMO_KEY];
  const known = memoSchema.safeParse(value).data;
  const sessionMemo = known ? sanitizeMemo(value as SessionMemo, known) : noMemo;
  const { [STARTED_KEY]: started, [STORE_KEY]: store } = memo ?? {};
  const unread = findUndecodable(value);
  const state = statuses[status.name] ?? 'open';
  return {
    ...sessionMemo,
    phase: phaseOf(state, sessionMemo),
    session: workflowId as SessionId,
    status: state,
    startedAt: typeof started === 'number' ? started : startTime.getTime(),
    closedAt: closeTime?.getTime() ?? null,
    ...(typeof store === 'string' ? { store } : {}),
    ...(unread ? { unreadable: unread.why, title: `(${unread.why})` } : {}),
    configuration: (configuration.safeParse(memo?.[CONFIGURATION_KEY]).data ?? null) as Configuration | null,
    taskQueue: execution.taskQueue || TASK_QUEUE,
    ...forkOf(memo),
    ...(state === 'open' && needsNewer(execution) ? { needsNewer: true } : {}),
  };
}

function forkOf(memo: Readonly<Record<string, unknown>> = {}): Pick<SessionInfo, 'forkedFrom' | 'forkFiles'> {
  const from = forkedFrom.safeParse(memo[FORK_KEY]).data;
  const files = forkFiles.safeParse(memo[FORK_FILES_KEY]).data;
  return { ...(from && { forkedFrom: from as ForkedFrom }), ...(files && { forkFiles: files as ForkFiles }) };
}

export function needsNewer({ searchAttributes }: Partial<Pick<WorkflowExecutionInfo, 'searchAttributes'>>): boolean {
  return unknownChanges(searchAttributes?.[CHANGES_ATTRIBUTE]).length > 0;
}

export function sessionDescription(described: WorkflowExecutionDescription): SessionDescription {
  return { ...sessionInfo(described), unseen: Boolean(described.raw.pendingWorkflowTask) };
}

/** Takes parts of the memo that could be hostile in their checked form. */
function sanitizeMemo(value: SessionMemo, known: z.infer<typeof memoSchema>): SessionMemo {
  const { host: _, facts: __, suggestion: ___, ...memo } = value;
  const { head, last } = known as Pick<SessionMemo, 'head' | 'last'>;
  return {
    ...memo,
    head,
    last,
    ...(known.host && { host: known.host }),
    ...factsOf(known),
    ...(known.suggestion && { suggestion: known.suggestion }),
  };
}

function factsOf({ facts: stored }: z.infer<typeof memoSchema>): Pick<SessionMemo, 'facts'> {
  return stored === undefined ? {} : { facts: stored as SessionFacts };
}

/**
 * Returns the most urgent phase of a session and its agents, whose calls it lists among its own. A
 * workflow that was ended by force could not report it, so its status decides.
 */
function phaseOf(status: SessionStatus, { phase, approvals = [] }: SessionMemo): Phase {
  if (status !== 'open') return 'closed';
  return approvals.length > 0 && (phase === 'running' || phase === 'parked') ? 'waiting_approval' : phase;
}

/** Tells whether a run has begun and is not over. */
export function isUnderWay({ phase }: Pick<SessionInfo, 'phase'>): boolean {
  return phase !== 'idle' && phase !== 'closed';
}

/** Tells whether a failure ended the session, or its last run needs a person's look. */
export function isFailedSession({ status, phase, last }: Pick<SessionInfo, 'status' | 'phase' | 'last'>): boolean {
  if (status === 'failed' || status === 'terminated' || status === 'timed_out') return true;
  return (phase === 'idle' || phase === 'closed') && last !== null && isBadEnd(last.terminal);
}

/** Says for people what a session is doing, or how it ended. */
export function phaseText({
  status,
  phase,
  parkedUntil,
  waitsFor,
  needsNewer: isNewer,
  waits = 0,
  atBudget,
}: Pick<SessionInfo, 'status' | 'phase' | 'parkedUntil' | 'waitsFor' | 'needsNewer' | 'waits' | 'atBudget'>): string {
  if (status !== 'open') return status === 'cancelled' ? 'closed' : status.replace('_', ' ');
  if (isNewer) return 'needs a newer perdure';
  if (waitsFor !== undefined) return `waiting for host ${oneLine(waitsFor, 60)}`;
  if (phase === 'waiting_approval') return 'waiting for a decision';
  if (phase === 'waiting_worker') return 'waiting for a worker';
  if (phase === 'parked' && atBudget) return 'waiting at its budget';
  if (phase === 'parked' && waits > 0) return 'waiting for a result from outside';
  return phase === 'parked' && parkedUntil !== undefined ? `parked until ${formatMoment(parkedUntil)}` : phase;
}
