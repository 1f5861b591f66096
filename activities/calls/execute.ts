// One call from input to outcome, in the order of L33. It has two callers: the model activity
// starts a safe call early, while the reply streams (L37); the tool activity runs the others with a
// claim and records their outcomes (L40).
import type { CallKey } from '../../workflows/contract/ids.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { askAbout, askAgain, chooseInput, storeReplacedInput, addApproval, type ChosenInput } from './approval.ts';
import { checkCall } from './check-call.ts';
import { endsCall, reportStopped, denyByPerson, refuseCall, reportMaybeStarted, type CallVerdict } from './verdict.ts';
import { formatOutcome } from './format-outcome.ts';
import { callIdOf } from '../../system/process/environment.ts';
import { concludeDelegated, readEarlierDelegation, delegateCall } from './delegated.ts';
import { findFailure } from './find-failure.ts';
import { readCall, recordOutcome, type RecordedOutcome } from './journal.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { recoverCall } from './recover.ts';
import { type Claimable, runClaimed, runReady } from './run-ready.ts';
import { abortCause } from './call-tool.ts';
import type {
  ApprovalNeeded,
  CallRequest,
  CallRun,
  EarlyRun,
  DelegationNeeded,
  VoidAttempt,
  CallEnvironment,
} from './call-environment.ts';
import { buildToolContext } from './tool-context.ts';

export type CallDone = { readonly kind: 'done' } & RecordedOutcome;

/**
 * Runs a safe call while the reply streams, without a claim or a record. A call that would ask is
 * void. Throws StoreError.
 */
export async function executeEarly(
  environment: CallEnvironment,
  call: CallRequest,
  run: EarlyRun,
): Promise<CallDone | VoidAttempt> {
  const began = performance.now();
  const context = buildToolContext(environment, { ...run, generation: null });
  const checked = await checkCall(environment, run, { call, input: call.input, context });
  if (checked.kind === 'ask' || (checked.kind === 'ready' && !checked.ready.safe)) {
    return { kind: 'void', cause: 'superseded' };
  }
  const verdict = checked.kind === 'ready' ? await runReady(environment, run, checked, context) : checked;
  if (verdict.kind === 'void') return verdict;
  const chosen =
    checked.kind === 'ready' ? await storeReplacedInput(environment.store, checked, { input: call.input }) : null;
  const final = chosen ? addApproval(verdict, chosen) : verdict;
  return { kind: 'done', ...(await formatTimed(environment, { ...call, key: null }, final, began)) };
}

/**
 * Runs the whole of L33 for one call, at most once if it may not be repeated. Throws StoreError.
 */
export async function executeCall(
  environment: CallEnvironment,
  call: CallRequest,
  run: CallRun,
): Promise<CallDone | VoidAttempt | ApprovalNeeded | DelegationNeeded> {
  const { store, session } = environment;
  const own = { session, key: run.key };
  const state = run.fresh ? ({ kind: 'open' } as const) : await readCall(store, own);
  if (state.kind === 'ended') return { kind: 'done', ...state.recorded };
  if (run.delegated) return await recordDelegatedEnd(environment, call, { ...run, delegated: run.delegated });
  const began = performance.now();
  // A call that an activity has started is not judged anew: a check, a hook or a person could not
  // undo it.
  const verdict =
    state.kind === 'taken' ? await recoverCall(environment, call, run, state) : await beginCall(environment, call, run);
  if (verdict.kind !== 'verdict') return verdict;
  const outcome = addSpendOfCall(await formatTimed(environment, { ...call, key: run.key }, verdict, began), run);
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
async function recordDelegatedEnd(
  environment: CallEnvironment,
  call: CallRequest,
  run: CallRun & Required<Pick<CallRun, 'delegated'>>,
): Promise<CallDone> {
  const { verdict, began } = await concludeDelegated(environment, call, run, run.delegated);
  const outcome = await formatOutcome(
    environment.store,
    { ...call, key: run.key },
    verdict,
    Math.max(0, Date.now() - began),
  );
  return {
    kind: 'done',
    ...(await recordOutcome(environment.store, { session: environment.session, key: run.key }, outcome)),
  };
}

type CallStartResult = CallVerdict | VoidAttempt | ApprovalNeeded | DelegationNeeded;

async function beginCall(environment: CallEnvironment, call: CallRequest, run: CallRun): Promise<CallStartResult> {
  return admitDoubt(environment, call, run, await attemptCall(environment, call, run));
}

async function attemptCall(environment: CallEnvironment, call: CallRequest, run: CallRun): Promise<CallStartResult> {
  const { decision } = run;
  if (decision?.kind === 'deny') return denyByPerson(call.name, decision);
  if (run.signal.aborted) return await endBeforeStart(environment, call, run);
  const before =
    !run.fresh && environment.registry.get(call.name)?.delegate ? await readEarlierDelegation(environment, run) : null;
  if (before) return before;
  const chosen = await chooseInput(environment, call, { key: run.key, decision });
  if (typeof chosen === 'string') return refuseCall(chosen);
  if ('ask' in chosen) return chosen;
  const verdict = await runWithInput(environment, call, run, chosen);
  return verdict.kind === 'verdict' ? addApproval(verdict, chosen) : verdict;
}

/**
 * Reports doubt where an earlier attempt may have begun a call without a claim; the model is not
 * told that it never did.
 */
function admitDoubt(
  environment: CallEnvironment,
  call: CallRequest,
  run: CallRun,
  verdict: CallStartResult,
): CallStartResult {
  if (!run.mayHaveBegun || verdict.kind !== 'verdict' || verdict.decision !== 'not_run') return verdict;
  const prepared = prepareCall(environment.registry, environment, call);
  if (prepared.kind === 'invalid') return verdict;
  const ready = keepJudgement(prepared, run);
  return ready.tool.delegate || ready.safe || needsClaim(ready) ? verdict : reportMaybeStarted(call.name);
}

/**
 * Ends a call before it starts. Its claim is taken all the same: an attempt that is still alive
 * elsewhere, and about to begin, finds it taken.
 */
async function endBeforeStart(
  environment: CallEnvironment,
  call: CallRequest,
  run: CallRun,
): Promise<CallVerdict | VoidAttempt | ApprovalNeeded> {
  const cause = abortCause(run.signal);
  const prepared = prepareCall(environment.registry, environment, call);
  if (!endsCall(cause) || prepared.kind === 'invalid') return reportStopped(cause);
  const ready = keepJudgement(prepared, run);
  if (ready.tool.delegate) return reportStopped(cause);
  if (!needsClaim(ready)) {
    await endLeftProcesses(environment, run);
    return reportStopped(cause);
  }
  return await runUnderClaim(environment, call, run, { ready, chosen: { input: call.input } });
}

async function runWithInput(
  environment: CallEnvironment,
  call: CallRequest,
  run: CallRun,
  chosen: ChosenInput,
): Promise<CallStartResult> {
  const context = buildToolContext(environment, { ...run, id: run.key, generation: null });
  const decided = run.decision && (chosen.edited ? 'edited' : 'as_asked');
  const checked = await checkCall(environment, run, { call, input: chosen.input, context, decided });
  if (checked.kind === 'ask') {
    const failure = await findFailure(environment, checked.ready, context);
    if (failure !== null) return refuseCall(`Not run: ${failure}`);
    return { kind: 'ask', ask: await askAbout(environment, run, checked) };
  }
  const { approved, edited } = chosen;
  if (checked.kind === 'verdict' && checked.ofInput && edited && approved) {
    return askAgain(call, approved.inputHash, checked.content);
  }
  if (checked.kind !== 'ready') return checked;
  const replaced = await storeReplacedInput(environment.store, checked, chosen);
  const ready = keepJudgement(checked.ready, run);
  if (run.safe && !ready.safe && !edited) return refuseCall(describeLostSafety(call.name));
  const delegated = await delegateCall(environment, run, { ready, chosen: replaced }, context);
  if (delegated) return delegated;
  if (!needsClaim(ready)) await endLeftProcesses(environment, run);
  const ran = needsClaim(ready)
    ? await runUnderClaim(environment, call, run, { ready, chosen: replaced })
    : await runReady(environment, run, { ready, input: replaced.input }, context);
  return ran.kind === 'verdict' ? addApproval(ran, replaced) : ran;
}

/** Runs a call under its claim, and recovers it when another attempt was faster. */
async function runUnderClaim(
  environment: CallEnvironment,
  call: CallRequest,
  run: CallRun,
  claimable: Claimable,
): Promise<CallVerdict | VoidAttempt | ApprovalNeeded> {
  const ran = await runClaimed(environment, run, claimable);
  return ran.kind === 'taken' ? await recoverCall(environment, call, run, ran) : ran;
}

/** Ends the processes that an earlier attempt left of a call without a claim. */
async function endLeftProcesses({ host }: CallEnvironment, { key, mayHaveBegun }: CallRun): Promise<void> {
  if (mayHaveBegun) await host.endTree({ callId: callIdOf(key) });
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
  environment: CallEnvironment,
  call: CallRequest & { readonly key: CallKey | null },
  verdict: CallVerdict,
  began: number,
): Promise<RecordedOutcome> {
  return await formatOutcome(environment.store, call, verdict, performance.now() - began);
}
