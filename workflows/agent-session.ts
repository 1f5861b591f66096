// The workflow: one session, one conversation. It waits for messages, opens a run for what waits,
// and lives until it is cancelled, or for as long as it was asked to.
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  patched,
  workflowInfo,
} from '@temporalio/workflow';
import { commitEntries, openAndRun, run } from './run/run.ts';
import { findUndecodable } from './contract/failures.ts';
import { noSpend } from './contract/loop.ts';
import type { WorktreeEnd } from './contract/delegation.ts';
import type { RunReport, SessionInput } from './contract/session.ts';
import { stopBackground, watchBackground } from './delegated/background.ts';
import { agentsEnded } from './delegated/carry-out.ts';
import { reportToParent } from './delegated/reports.ts';
import { handoverIfDue, handoverReady } from './session/handover.ts';
import { messageProblem, titleOf } from './session/inbox.ts';
import { activityProblem } from './ports.ts';
import { noContext } from './machine/state.ts';
import type { Carry, ResumedInput } from './session/session-state.ts';
import { Session } from './session/session.ts';
import { listenToClients } from './updates/listen.ts';

/**
 * Returns the report of the last run where the session was opened for one (`until`); otherwise it
 * ends as Cancelled.
 */
export async function agentSession(argument: ResumedInput): Promise<RunReport> {
  const input = checkedArgument(argument);
  const carry = input.carry ?? firstCarry(input, workflowInfo().firstExecutionRunId);
  const session = new Session(input, carry);
  listenToClients(session);
  if (!input.carry && input.first) session.take(input.first);
  if (!input.carry && !input.first && input.until === 'run') await refuseWithoutPrompt(session);
  const { agents } = session.delegations;
  if (agents.background.length > 0) void CancellationScope.nonCancellable(() => watchBackground(agents));
  const isOver = (): boolean =>
    input.until === 'run' &&
    session.facts.now.last !== null &&
    session.inbox.count === 0 &&
    agents.background.length === 0;
  let report: RunReport | ApplicationFailure | null = null;
  try {
    if (carry.run) await run(session, carry.run);
    const cancelled = (): boolean => session.stopCause === 'cancel';
    while (!cancelled() && !report) {
      if (isOver()) {
        const found = await reportOf(session);
        // A message that came meanwhile is worked on.
        report = isOver() ? found : null;
        continue;
      }
      if (session.inbox.count === 0) session.enter('idle');
      await handoverIfDue(session, () => null);
      await condition(() => session.inbox.count > 0 || handoverReady(session));
      // A message and a cancel may have arrived together.
      if (session.inbox.count > 0 && !cancelled()) await openAndRun(session);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  const isCancelled = session.stopCause === 'cancel';
  const worktree = await close(session);
  const { agent } = input;
  const { last, spent } = session.facts.now;
  if (agent) await reportToParent(agent, session.id, last, { spend: spent?.spend, worktree });
  while (hasMessages(session) && patched('perdure-late-not-taken')) await recordNotTaken(session);
  if (!report || isCancelled || cancelsLate(session)) throw new CancelledFailure('session cancelled');
  if (report instanceof ApplicationFailure) throw report;
  return report;
}

function firstCarry({ options }: SessionInput, chain: string): Carry {
  const inbox = { queue: [], seen: [] };
  const nothing = { step: 0, head: null, runs: 0, begun: false, last: null, snips: [], run: null };
  return { chain, options, inbox, context: noContext, ...nothing };
}

/** Not even the first run could be stored: there is nothing to read. */
const nothingRead = { text: '', usage: noSpend.usage, costUsd: noSpend.usd };

/** A failure where it cannot be read: to be thrown once the session is closed in good order. */
async function reportOf(session: Session): Promise<RunReport | ApplicationFailure | null> {
  const { head, last: summary } = session.facts.now;
  if (summary === null) return null;
  if (hasBadOptions(session)) return ApplicationFailure.nonRetryable(session.refusedOptions, 'BadOptions');
  const step = session.facts.nextStep();
  const { run: number, terminal } = summary;
  try {
    const found = head === null ? nothingRead : await session.ports.readResult({ head, run: number, step });
    return { ...summary, session: session.id, reason: terminal.reason, ...found };
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null || isCancellation(error)) throw error;
    const message = `run ${number} ended with ${terminal.reason}, and its result cannot be read: ${problem.detail}`;
    return ApplicationFailure.nonRetryable(message, 'UnreadableResult');
  }
}

/**
 * To be told apart from a model's errors, for trying again does not help. An agent's are told to
 * whoever started it as the end of its run.
 */
function hasBadOptions(session: Session): session is Session & { readonly refusedOptions: string } {
  return session.refusedOptions !== null && !session.input.agent && patched('perdure-bad-options');
}

/** A message that was sent together with the start is here by now. */
async function refuseWithoutPrompt({ inbox }: Session): Promise<void> {
  await Promise.resolve();
  if (inbox.count > 0 || !patched('perdure-no-prompt')) return;
  const message =
    'the session is to end with its run ("until": "run") and has no prompt: give it as `first`, or send `message` with the start';
  throw ApplicationFailure.nonRetryable(message, 'UnreadableSession');
}

/**
 * Records the messages that still wait, and those that arrive meanwhile, as not taken (L49, L61).
 */
async function close(session: Session): Promise<WorktreeEnd | null> {
  session.steered.close({ isCancelled: session.stopCause === 'cancel', isAgent: session.input.agent !== undefined });
  let worktree: WorktreeEnd | null = null;
  do {
    await storeClosing(session);
    await session.beside.settled();
    await session.alerts.settled();
    await stopBackground(session.delegations.agents);
    await agentsEnded(session);
    await session.alerts.settled();
    session.billLate(true);
    await session.asks.settled();
    await session.pauses.settled();
    worktree ??= await endWorktree(session);
  } while (hasMessages(session));
  session.enter('closed');
  session.told.tell();
  return worktree;
}

/** The end of an agent that was just stopped is nobody's message. */
function hasMessages({ inbox }: Session): boolean {
  return inbox.waiting.some(({ ended }) => !ended);
}

async function storeClosing(session: Session): Promise<void> {
  const notTaken = session.inbox.takeAll().flatMap(({ id, ended }) => (ended ? [] : [id]));
  const last = [...session.steered.take(), { kind: 'session_closed', notTaken } as const];
  session.facts.close(await commitEntries(session, session.facts.now.head, last));
}

/** Those that came while an agent reported to its parent. */
async function recordNotTaken(session: Session): Promise<void> {
  await storeClosing(session);
  session.told.change();
  session.told.tell();
}

/**
 * A cancel that comes while it closes undoes nothing of what its run came to; it did in sessions of
 * earlier releases.
 */
function cancelsLate({ stopCause }: Session): boolean {
  return stopCause === 'cancel' && !patched('perdure-late-cancel');
}

/** When nothing works in it any more: neither its agent nor those of this one. */
async function endWorktree({ input: { agent, title }, facts, ports }: Session): Promise<WorktreeEnd | null> {
  if (!agent?.isolation) return null;
  const ended = { title, reason: facts.now.last?.terminal.reason ?? null, step: facts.nextStep() };
  try {
    return await CancellationScope.nonCancellable(() => ports.endWorktree(ended));
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return { kind: 'kept', detail: problem.detail };
  }
}

/**
 * Any client can start a session, with anything: it fails with a sentence. One that has a history
 * was readable to the worker before this one, which lacks a key or has one too many: its task
 * fails, and is tried again until a worker can read it.
 */
function checkedArgument(argument: unknown): ResumedInput {
  const unread = findUndecodable(argument);
  const why = unread ? unread.why : inputProblem(argument);
  if (why === undefined) return titled(argument as Partial<ResumedInput>);
  const { unsafe, continuedFromExecutionRunId } = workflowInfo();
  const message = `the session's argument ${why}`;
  if (unread?.elsewhere || unsafe.isReplaying || continuedFromExecutionRunId !== undefined) throw new Error(message);
  throw ApplicationFailure.nonRetryable(message, 'UnreadableSession');
}

/** Shape only: what its options ask for is judged when a run opens with them. */
function inputProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'is no object: give {"options": {"cwd": "/…"}, "first": …, "until": "run"}';
  const { options, title, carry, first } = value as Partial<Record<keyof ResumedInput, unknown>>;
  if (!isObject(options)) return 'has no `options`: give an object with at least `cwd`';
  if (title !== undefined && typeof title !== 'string') return 'has a `title` that is no text';
  if (carry !== undefined && !isObject(carry)) return 'has a `carry`, which only a session itself can say';
  const problem = first === undefined ? undefined : messageProblem(first);
  return problem && `has a \`first\` that is no message: ${problem}`;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whoever starts it by hand may leave out what only lists show. */
function titled(input: Partial<ResumedInput>): ResumedInput {
  const { first, visibility = false } = input;
  const { title = first?.body.kind === 'text' ? titleOf(first.body.text) : '' } = input;
  return { ...(input as ResumedInput), title, visibility };
}
