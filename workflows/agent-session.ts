// The workflow: one session, one conversation. It waits for messages, opens a run for those that
// wait, and lives until it is cancelled, or as long as its input says. A handover continues it as
// new with everything carried (L4); it throws, and nothing after it runs.
import {
  ApplicationFailure,
  CancellationScope,
  CancelledFailure,
  condition,
  isCancellation,
  patched,
  upsertMemo,
  workflowInfo,
} from '@temporalio/workflow';
import { commitEntries } from './run/commit-entries.ts';
import { openAndRun } from './run/open-run.ts';
import { runToEnd } from './run/run.ts';
import { findUndecodable } from './contract/undecodable.ts';
import { noSpend } from './contract/loop.ts';
import type { WorktreeEnd } from './contract/delegation.ts';
import type { RunReport } from './contract/session.ts';
import { stopBackground, watchBackground } from './delegated/background.ts';
import { awaitAgents } from './delegated/carry-out.ts';
import { reportToParent } from './delegated/reports.ts';
import { canHandOver, handOverIfDue } from './session/handover.ts';
import { messageProblem, sessionTitle } from './session/inbox.ts';
import { activityProblem } from './activity-problem.ts';
import { noContext } from './machine/state.ts';
import type { Carry, ResumedInput } from './session/session-state.ts';
import { Session } from './session/session.ts';
import { listenToClients } from './updates/listen.ts';
import { type CheckOut, type FilesCheckedOut, FORK_FILES_KEY, type ForkFiles } from './contract/fork.ts';

/**
 * Returns the report of the last run where the session was opened for one run (`until`). Otherwise
 * it ends as cancelled. Throws UnreadableSession for an argument that is not a session's, and
 * BadOptions for options that a run refused.
 */
export async function agentSession(argument: ResumedInput): Promise<RunReport> {
  const input = parseArgument(argument);
  const carry = input.carry ?? firstCarry(input, workflowInfo().firstExecutionRunId);
  // An earlier release opens the first run of an agent on any host.
  if (input.agent?.host && !input.carry) patched('perdure-agent-host');
  const session = new Session(input, carry);
  listenToClients(session);
  if (!input.carry && input.first) session.receiveMessage(input.first);
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
    report = await openForkFolder(session);
    if (carry.run) await runToEnd(session, carry.run);
    const isCancelledNow = (): boolean => session.stopCause === 'cancel';
    while (!isCancelledNow() && !report) {
      if (isOver()) {
        const lastReport = await readLastReport(session);
        // A message that came meanwhile opens another run.
        report = isOver() ? lastReport : null;
        continue;
      }
      if (session.inbox.count === 0) session.enterPhase('idle');
      // The run that was to end first is over.
      if (session.hosting.mayMoveNow) await session.hosting.moveIfRequested();
      await handOverIfDue(session, () => null);
      await condition(() => hasWork(session) || canHandOver(session) || session.hosting.mayMoveNow);
      // A message and a cancel may have arrived together.
      if (hasWork(session) && !isCancelledNow()) await openAndRun(session);
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
  }
  const isCancelled = session.stopCause === 'cancel';
  const worktree = await closeSession(session);
  const { agent } = input;
  const { last, spent: totals } = session.facts.now;
  if (agent) await reportToParent(agent, session.id, last, { spend: totals?.spend, worktree });
  while (hasMessages(session) && patched('perdure-late-not-taken')) await recordNotTaken(session);
  if (!report || isCancelled || isCancelledLate(session)) throw new CancelledFailure('session cancelled');
  if (report instanceof ApplicationFailure) throw report;
  return report;
}

/** A message waits, and nothing keeps a run from beginning. */
function hasWork({ inbox, isRewinding, hosting }: Session): boolean {
  return inbox.count > 0 && !isRewinding && !hosting.isMoving;
}

/** An agent begins where its parent works. */
function firstCarry({ options, agent }: ResumedInput, chain: string): Carry {
  const { host, place } = agent ?? {};
  const inbox = { queue: [], seen: [] };
  const nothing = { step: 0, head: null, runs: 0, begun: false, last: null, snips: [], run: null };
  const at = { ...(host && { host }), ...(place && { place, workspace: place }) };
  return { chain, options, inbox, context: noContext, ...nothing, ...at };
}

/** The result when not even the first run could be stored. */
const emptyResult = { text: '', usage: noSpend.usage, costUsd: noSpend.usd };

/**
 * Returns a failure where the result cannot be read: it is thrown once the session is closed in
 * good order.
 */
async function readLastReport(session: Session): Promise<RunReport | ApplicationFailure | null> {
  const { head, last: summary } = session.facts.now;
  if (summary === null) return null;
  if (hasBadOptions(session)) return ApplicationFailure.nonRetryable(session.refusedOptions, 'BadOptions');
  const step = session.facts.nextStep();
  const { run: number, terminal } = summary;
  try {
    const found = head === null ? emptyResult : await session.ports.readResult({ head, run: number, step });
    return { ...summary, session: session.id, reason: terminal.reason, ...found };
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null || isCancellation(error)) throw error;
    const message = `run ${number} ended with ${terminal.reason}, and its result cannot be read: ${problem.detail}`;
    return ApplicationFailure.nonRetryable(message, 'UnreadableResult');
  }
}

/**
 * Callers must tell refused options from a model's errors, for trying again does not help. An agent
 * reports them to its parent as the end of its run.
 */
function hasBadOptions(session: Session): session is Session & { readonly refusedOptions: string } {
  return session.refusedOptions !== null && !session.input.agent && patched('perdure-bad-options');
}

/** A message that was sent together with the start has arrived after this. */
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
async function closeSession(session: Session): Promise<WorktreeEnd | null> {
  session.steered.close({ isCancelled: session.stopCause === 'cancel', isAgent: session.input.agent !== undefined });
  let worktree: WorktreeEnd | null = null;
  if (session.isRewinding) await CancellationScope.nonCancellable(() => condition(() => !session.isRewinding));
  do {
    await commitClosing(session);
    await session.sideWork.awaitSettled();
    await session.alerts.awaitSettled();
    await stopBackground(session.delegations.agents);
    await awaitAgents(session);
    await session.alerts.awaitSettled();
    session.billLate(true);
    await session.asks.awaitSettled();
    await session.pauses.awaitSettled();
    worktree ??= await endWorktree(session);
  } while (hasMessages(session));
  session.enterPhase('closed');
  session.memoWriter.write();
  await session.webhooks.awaitSettled();
  return worktree;
}

/** The end of an agent that was just stopped does not count as a message. */
function hasMessages({ inbox }: Session): boolean {
  return inbox.waiting.some(({ ended: news }) => !news);
}

async function commitClosing(session: Session): Promise<void> {
  const notTaken = session.inbox.takeAll().flatMap(({ id, ended: news }) => (news ? [] : [id]));
  const news = session.facts.takeNews();
  const last = [...news, ...session.steered.take(), { kind: 'session_closed', notTaken } as const];
  session.facts.moveHead(await commitEntries(session, session.facts.now.head, last));
}

/** Records messages that came while an agent reported to its parent. */
async function recordNotTaken(session: Session): Promise<void> {
  await commitClosing(session);
  session.memoWriter.markChanged();
  session.memoWriter.write();
}

/**
 * A cancel that comes while the session closes changes nothing of its result. In sessions of
 * earlier releases it did.
 */
function isCancelledLate({ stopCause }: Session): boolean {
  return stopCause === 'cancel' && !patched('perdure-late-cancel');
}

/** Ends the session's own worktree. Call it when neither the session nor its agents work in it. */
async function endWorktree({ input: { agent, title }, facts, ports }: Session): Promise<WorktreeEnd | null> {
  if (!agent?.isolation) return null;
  const end = { title, reason: facts.now.last?.terminal.reason ?? null, step: facts.nextStep() };
  try {
    return await CancellationScope.nonCancellable(() => ports.endWorktree(end));
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null) throw error;
    return { kind: 'kept', detail: problem.detail };
  }
}

/**
 * Any client can start a session with any argument: a bad one fails the session, with a sentence.
 * An argument of a session with a history was readable to an earlier worker, so this one lacks an
 * encryption key or has the wrong one: its task fails, and is retried until a worker can read it.
 */
function parseArgument(argument: unknown): ResumedInput {
  const undecodable = findUndecodable(argument);
  const why = undecodable ? undecodable.why : inputProblem(argument);
  if (why === undefined) return withTitle(argument as Partial<ResumedInput>);
  const { unsafe, continuedFromExecutionRunId } = workflowInfo();
  const message = `the session's argument ${why}`;
  if (undecodable?.elsewhere || unsafe.isReplaying || continuedFromExecutionRunId !== undefined)
    throw new Error(message);
  throw ApplicationFailure.nonRetryable(message, 'UnreadableSession');
}

/** Checks the shape alone: its options are judged when a run opens with them. */
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

/** Fills in what only lists show: a person who starts the workflow by hand may leave it out. */
function withTitle(input: Partial<ResumedInput>): ResumedInput {
  const { first, visibility = false } = input;
  const { title = first?.body.kind === 'text' ? sessionTitle(first.body.text) : '' } = input;
  return { ...(input as ResumedInput), title, visibility };
}

/**
 * Checks out the files of a fork before its first run (T10). If that is impossible the fork fails,
 * with the reason: it would work on other files than its conversation is about. Returns the failure
 * of the fork; null when its files are there, or it has none of its own.
 */
async function openForkFolder(session: Session): Promise<ApplicationFailure | null> {
  const { checkOut } = session.facts.now;
  if (!checkOut) return null;
  session.enterPhase('running');
  const end = await checkOutOnce(session, checkOut);
  const { kind: state, ...details } = end;
  upsertMemo({ [FORK_FILES_KEY]: { folder: checkOut.to, ...details, state } satisfies ForkFiles });
  if (end.kind === 'refused') return ApplicationFailure.nonRetryable(end.problem, 'NotForked');
  session.facts.noteCheckedOut(end.folder);
  return null;
}

async function checkOutOnce({ ports, facts }: Session, checkOut: CheckOut): Promise<FilesCheckedOut> {
  try {
    return await ports.checkOutFiles({ ...checkOut, step: facts.nextStep() });
  } catch (error) {
    const problem = activityProblem(error);
    if (problem === null || isCancellation(error)) throw error;
    return { kind: 'refused', problem: problem.detail };
  }
}
