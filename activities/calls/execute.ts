// One call from input to outcome, in the order of L33. It has two callers: the model activity
// starts a safe call early, while the reply streams (L37); the tool activity runs the others with a
// claim and records their outcomes (L40).
import type { DelegatedEnd } from '../../workflows/contract/delegation.ts';
import type { CallKey } from '../../workflows/contract/ids.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { addApproval, askAbout, askAgain, chooseInput, type ChosenInput, storeReplacedInput } from './approval.ts';
import { checkCall } from './check-call.ts';
import {
  type CallVerdict,
  denyByPerson,
  endsCall,
  refuseCall,
  reportGivenUp,
  reportMaybeStarted,
  reportStopped,
} from './verdict.ts';
import { formatOutcome } from './format-outcome.ts';
import { callIdOf } from '../../system/process/environment.ts';
import { concludeDelegated, delegateCall, readEarlierDelegation } from './delegated.ts';
import { readCall, type RecordedOutcome, recordOutcome } from './journal.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { recoverCall } from './recover.ts';
import { type Claimable, runClaimed, runReady } from './run-ready.ts';
import { abortCause, guardTool } from './call-tool.ts';
import {
  type ApprovalNeeded,
  type CallEnvironment,
  type CallRun,
  type ClaimedCall,
  type DelegationNeeded,
  journalNameOf,
  type ToolCall,
  type VoidAttempt,
} from './call-context.ts';
import { buildJudgeContext } from '../../tools/rules/permission.ts';
import type { ToolContext } from '../../tools/tool.ts';

export type CallDone = { readonly kind: 'done' } & RecordedOutcome;

/**
 * Runs a safe call while the reply streams, without a claim or a record. A call that would ask is
 * void. Throws StoreError.
 */
export async function executeEarly(call: ToolCall): Promise<CallDone | VoidAttempt> {
  const began = performance.now();
  const { input } = call.block;
  const { store } = call.environment;
  const context = call.buildContext();
  const checked = await checkCall(call, { input, context });
  if (checked.kind === 'ask' || (checked.kind === 'ready' && !checked.ready.safe)) {
    return { kind: 'void', cause: 'superseded' };
  }
  const verdict = checked.kind === 'ready' ? await runReady(call, checked, context) : checked;
  if (verdict.kind === 'void') return verdict;
  const chosen = checked.kind === 'ready' ? await storeReplacedInput(store, checked, { input }) : null;
  const final = chosen ? addApproval(verdict, chosen) : verdict;
  return { kind: 'done', ...(await formatTimed(call, null, final, began)) };
}

/**
 * Runs the whole of L33 for one call, at most once if it may not be repeated. Throws StoreError.
 */
export async function executeCall(
  call: ClaimedCall,
): Promise<CallDone | VoidAttempt | ApprovalNeeded | DelegationNeeded> {
  const { store } = call.environment;
  const { run } = call;
  const own = journalNameOf(call);
  const state = run.fresh ? ({ kind: 'open' } as const) : await readCall(store, own);
  if (state.kind === 'ended') return { kind: 'done', ...state.recorded };
  if (run.delegated) return await recordDelegatedEnd(call, run.delegated);
  const began = performance.now();
  // A call that an activity has started is not judged anew: a check, a hook or a person could not
  // undo it.
  const verdict = state.kind === 'taken' ? await recoverCall(call, state) : await beginCall(call);
  if (verdict.kind !== 'verdict') return verdict;
  const outcome = addSpendOfCall(await formatTimed(call, run.key, verdict, began), run);
  return { kind: 'done', ...(await recordOutcome(store, own, outcome)) };
}

/**
 * Adds the small model's spend to the record, so that it counts once, whichever attempt the loop
 * hears of.
 */
function addSpendOfCall({ outcome, facts }: RecordedOutcome, { small }: CallRun): RecordedOutcome {
  const spend = small?.spend();
  return { outcome, facts: spend && totalTokens(spend.usage) > 0 ? { ...facts, spend } : facts };
}

/** Records the end of a delegated call. Its duration counts from the time it was handed over. */
async function recordDelegatedEnd(call: ClaimedCall, end: DelegatedEnd): Promise<CallDone> {
  const { store } = call.environment;
  const { verdict, began } = await concludeDelegated(call, end);
  const { block, run } = call;
  const outcome = await formatOutcome(store, { ...block, key: run.key }, verdict, Math.max(0, Date.now() - began));
  return { kind: 'done', ...(await recordOutcome(store, journalNameOf(call), outcome)) };
}

type CallStartResult = CallVerdict | VoidAttempt | ApprovalNeeded | DelegationNeeded;

async function beginCall(call: ClaimedCall): Promise<CallStartResult> {
  return admitDoubt(call, await attemptCall(call));
}

async function attemptCall(call: ClaimedCall): Promise<CallStartResult> {
  const { environment, run } = call;
  const { decision } = run;
  if (decision?.kind === 'deny') return denyByPerson(call.name, decision);
  if (run.signal.aborted) return await endBeforeStart(call);
  const before = !run.fresh && environment.registry.get(call.name)?.delegate ? await readEarlierDelegation(call) : null;
  if (before) return before;
  const chosen = await chooseInput(call, decision);
  if (typeof chosen === 'string') return refuseCall(chosen);
  if ('ask' in chosen) return chosen;
  const verdict = await runWithInput(call, chosen);
  return verdict.kind === 'verdict' ? addApproval(verdict, chosen) : verdict;
}

/**
 * Reports doubt where an earlier attempt may have begun a call without a claim, or had begun it
 * early; the model is not told that it never did.
 */
function admitDoubt(call: ClaimedCall, verdict: CallStartResult): CallStartResult {
  const { run } = call;
  if (run.givenUp && verdict.kind === 'verdict' && verdict.facts.cancelled && verdict.decision === 'not_run')
    return reportGivenUp();
  if (!run.mayHaveBegun || verdict.kind !== 'verdict' || verdict.decision !== 'not_run') return verdict;
  const prepared = call.prepareOwn();
  if (prepared.kind === 'invalid') return verdict;
  const ready = keepJudgement(prepared, run);
  return ready.tool.delegate || ready.safe || needsClaim(ready) ? verdict : reportMaybeStarted(call.name);
}

/**
 * Ends a call before it starts. Its claim is taken all the same: an attempt that is still alive
 * elsewhere, and about to begin, finds it taken.
 */
async function endBeforeStart(call: ClaimedCall): Promise<CallVerdict | VoidAttempt | ApprovalNeeded> {
  const { run } = call;
  const cause = abortCause(run.signal);
  const prepared = call.prepareOwn();
  if (!endsCall(cause) || prepared.kind === 'invalid') return reportStopped(cause);
  const ready = keepJudgement(prepared, run);
  if (ready.tool.delegate) return reportStopped(cause);
  if (!needsClaim(ready)) {
    await endLeftProcesses(call);
    return reportStopped(cause);
  }
  return await runUnderClaim(call, { ready, chosen: { input: call.block.input } });
}

async function runWithInput(call: ClaimedCall, chosen: ChosenInput): Promise<CallStartResult> {
  const { environment, run } = call;
  const context = call.buildContext();
  const decided = run.decision && (chosen.edited ? 'edited' : 'as_asked');
  const checked = await checkCall(call, { input: chosen.input, context, decided });
  if (checked.kind === 'ask') {
    const failure = await findFailure(environment, checked.ready, context);
    if (failure !== null) return refuseCall(`Not run: ${failure}`);
    return { kind: 'ask', ask: await askAbout(call, checked) };
  }
  const { approved, edited } = chosen;
  if (checked.kind === 'verdict' && checked.ofInput && edited && approved) {
    return askAgain(call, approved.inputHash, checked.content);
  }
  if (checked.kind !== 'ready') return checked;
  const replaced = await storeReplacedInput(environment.store, checked, chosen);
  const ready = keepJudgement(checked.ready, run);
  if (run.safe && !ready.safe && !edited) return refuseCall(describeLostSafety(call.name));
  const delegated = await delegateCall(call, { ready, chosen: replaced }, context);
  if (delegated) return delegated;
  if (!needsClaim(ready)) await endLeftProcesses(call);
  const ran = needsClaim(ready)
    ? await runUnderClaim(call, { ready, chosen: replaced })
    : await runReady(call, { ready, input: replaced.input }, context);
  return ran.kind === 'verdict' ? addApproval(ran, replaced) : ran;
}

/** Runs a call under its claim, and recovers it when another attempt was faster. */
async function runUnderClaim(
  call: ClaimedCall,
  claimable: Claimable,
): Promise<CallVerdict | VoidAttempt | ApprovalNeeded> {
  const ran = await runClaimed(call, claimable);
  return ran.kind === 'taken' ? await recoverCall(call, ran) : ran;
}

/** Ends the processes that an earlier attempt left of a call without a claim. */
async function endLeftProcesses({ environment, run }: ClaimedCall): Promise<void> {
  if (run.mayHaveBegun) await environment.host.endTree({ callId: callIdOf(run.key) });
}

/**
 * Keeps the judgement made with the reply. Whether a call changes nothing depends on the workspace,
 * which others change meanwhile; the reply's judgement decided which calls run in parallel, so a
 * call that was unsafe then stays so.
 */
function keepJudgement(ready: ReadyCall, { safe }: CallRun): ReadyCall {
  return { ...ready, safe: ready.safe && safe };
}

const describeLostSafety = (name: string): string =>
  `Not run: when ${name} was called it would have changed nothing, and now it might. Make the call again.`;

function needsClaim({ safe, tool }: ReadyCall): boolean {
  return !safe && tool.recovery !== 'rerun';
}

async function formatTimed(
  { environment, block }: ToolCall,
  key: CallKey | null,
  verdict: CallVerdict,
  began: number,
): Promise<RecordedOutcome> {
  return await formatOutcome(environment.store, { ...block, key }, verdict, performance.now() - began);
}

/**
 * Checks before a person is asked whether a call could work at all, so that nobody decides about
 * one that cannot. The failure's text quotes the file, so this is done only where the run may read
 * the file without asking. Says why the call would fail. Null: it may work, or only a person may
 * find out.
 */
async function findFailure(
  environment: CallEnvironment,
  { tool, input }: Pick<ReadyCall, 'tool' | 'input'>,
  context: ToolContext,
): Promise<string | null> {
  const { wouldFail } = tool;
  if (wouldFail === undefined || !mayRead(environment, { tool, input })) return null;
  const tried = await guardTool(tool, context.signal, async () => (await wouldFail(input, context)) ?? null);
  return tried.kind === 'value' ? tried.value : null;
}

function mayRead(environment: CallEnvironment, { tool, input }: Pick<ReadyCall, 'tool' | 'input'>): boolean {
  const subject = tool.subject?.(input, buildJudgeContext(environment));
  if (subject?.kind !== 'path') return false;
  const read = prepareCall(environment.registry, environment, { name: 'read', input: { path: subject.path } });
  return read.kind === 'ready' && read.permission.kind === 'allow' && read.undecided === undefined;
}
