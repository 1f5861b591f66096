// One call from input to outcome, in the order of L33. Two callers: the model activity starts a
// safe call early, beside the stream (L37); the tool activity runs the others, with a claim, and
// records what they came to (L40).
import type { CallKey } from '../../workflows/contract/ids.ts';
import { totalTokens } from '../../workflows/contract/loop.ts';
import { askAbout, askAgain, chooseInput, keepReplaced, withApproval, type Chosen } from './approval.ts';
import { checkCall } from './check-call.ts';
import {
  formatOutcome,
  endsCall,
  reportStopped,
  deniedByPerson,
  refuseCall,
  reportMaybeStarted,
  type Verdict,
} from './verdict.ts';
import { callIdOf } from '../../system/process/environment.ts';
import { concludeDelegated, handOverCall, handOver } from './delegated.ts';
import { readCall, recordOutcome, type RecordedOutcome } from './journal.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { recoverCall } from './recover.ts';
import { type Claimable, runClaimed, runReady } from './run-ready.ts';
import { abortCause } from './call-tool.ts';
import {
  toolContext,
  type Asked,
  type CallRequest,
  type CallRun,
  type EarlyRun,
  type HandedOver,
  type Void,
  type Workbench,
} from './workbench.ts';

export type Done = { readonly kind: 'done' } & RecordedOutcome;

/**
 * A safe call beside the stream: no claim, nothing recorded. One that would ask is void. Throws
 * StoreError.
 */
export async function executeEarly(bench: Workbench, call: CallRequest, run: EarlyRun): Promise<Done | Void> {
  const began = performance.now();
  const context = toolContext(bench, { ...run, generation: null });
  const checked = await checkCall(bench, run, { call, input: call.input, context });
  if (checked.kind === 'ask' || (checked.kind === 'ready' && !checked.ready.safe)) {
    return { kind: 'void', cause: 'superseded' };
  }
  const verdict = checked.kind === 'ready' ? await runReady(bench, run, checked, context) : checked;
  if (verdict.kind === 'void') return verdict;
  const runs = checked.kind === 'ready' ? await keepReplaced(bench.store, checked, { input: call.input }) : null;
  const ended = runs ? withApproval(verdict, runs) : verdict;
  return { kind: 'done', ...(await format(bench, call, null, ended, began)) };
}

/** The whole of L33 for one call, at most once for what may not be repeated. Throws StoreError. */
export async function executeCall(
  bench: Workbench,
  call: CallRequest,
  run: CallRun,
): Promise<Done | Void | Asked | HandedOver> {
  const { store, session } = bench;
  const own = { session, key: run.key };
  const state = run.fresh ? ({ kind: 'open' } as const) : await readCall(store, own);
  if (state.kind === 'ended') return { kind: 'done', ...state.recorded };
  if (run.delegated) return await recordEnd(bench, call, { ...run, delegated: run.delegated });
  const began = performance.now();
  // A call that was started once, by whatever activity, is not judged anew: a check, a hook or a
  // person could not undo it.
  const verdict =
    state.kind === 'taken' ? await recoverCall(bench, call, run, state) : await beginCall(bench, call, run);
  if (verdict.kind !== 'verdict') return verdict;
  const outcome = withSpend(await format(bench, call, run.key, verdict, began), run);
  return { kind: 'done', ...(await recordOutcome(store, own, outcome)) };
}

/** Recorded with it, so that it counts once, whichever attempt the loop hears of. */
function withSpend({ outcome, facts }: RecordedOutcome, { small }: CallRun): RecordedOutcome {
  const spend = small?.spend();
  return { outcome, facts: spend && totalTokens(spend.usage) > 0 ? { ...facts, spend } : facts };
}

/** Its duration is that of the whole: from when it was handed over. */
async function recordEnd(
  bench: Workbench,
  call: CallRequest,
  run: CallRun & Required<Pick<CallRun, 'delegated'>>,
): Promise<Done> {
  const { verdict, began } = await concludeDelegated(bench, call, run, run.delegated);
  const outcome = await formatOutcome(bench.store, { ...call, key: run.key }, verdict, Math.max(0, Date.now() - began));
  return { kind: 'done', ...(await recordOutcome(bench.store, { session: bench.session, key: run.key }, outcome)) };
}

type Begun = Verdict | Void | Asked | HandedOver;

async function beginCall(bench: Workbench, call: CallRequest, run: CallRun): Promise<Begun> {
  return doubted(bench, call, run, await attemptCall(bench, call, run));
}

async function attemptCall(bench: Workbench, call: CallRequest, run: CallRun): Promise<Begun> {
  const { decision } = run;
  if (decision?.kind === 'deny') return deniedByPerson(call.name, decision);
  if (run.signal.aborted) return await neverBegun(bench, call, run);
  const before = !run.fresh && bench.registry.get(call.name)?.delegate ? await handOverCall(bench, run) : null;
  if (before) return before;
  const chosen = await chooseInput(bench, call, { key: run.key, decision });
  if (typeof chosen === 'string') return refuseCall(chosen);
  if ('ask' in chosen) return chosen;
  const verdict = await withInput(bench, call, run, chosen);
  return verdict.kind === 'verdict' ? withApproval(verdict, chosen) : verdict;
}

/**
 * Without a claim it is unknown whether an earlier attempt began the call; the model is not told
 * that it never did.
 */
function doubted(bench: Workbench, call: CallRequest, run: CallRun, verdict: Begun): Begun {
  if (!run.mayHaveBegun || verdict.kind !== 'verdict' || verdict.decision !== 'not_run') return verdict;
  const prepared = prepareCall(bench.registry, bench, call);
  if (prepared.kind === 'invalid') return verdict;
  const ready = asJudged(prepared, run);
  return ready.tool.delegate || ready.safe || needsClaim(ready) ? verdict : reportMaybeStarted(call.name);
}

/**
 * Its claim is taken all the same: an attempt that is still alive elsewhere, and about to begin,
 * finds it taken.
 */
async function neverBegun(bench: Workbench, call: CallRequest, run: CallRun): Promise<Verdict | Void | Asked> {
  const cause = abortCause(run.signal);
  const prepared = prepareCall(bench.registry, bench, call);
  if (!endsCall(cause) || prepared.kind === 'invalid') return reportStopped(cause);
  const ready = asJudged(prepared, run);
  if (ready.tool.delegate) return reportStopped(cause);
  if (!needsClaim(ready)) {
    await endUnclaimed(bench, run);
    return reportStopped(cause);
  }
  return await underClaim(bench, call, run, { ready, chosen: { input: call.input } });
}

async function withInput(bench: Workbench, call: CallRequest, run: CallRun, chosen: Chosen): Promise<Begun> {
  const context = toolContext(bench, { ...run, id: run.key, generation: null });
  const decided = run.decision && (chosen.edited ? 'edited' : 'as_asked');
  const checked = await checkCall(bench, run, { call, input: chosen.input, context, decided });
  if (checked.kind === 'ask') return { kind: 'ask', ask: await askAbout(bench, run, checked) };
  const { approved, edited } = chosen;
  if (checked.kind === 'verdict' && checked.ofInput && edited && approved) {
    return askAgain(call, approved.inputHash, checked.content);
  }
  if (checked.kind !== 'ready') return checked;
  const runs = await keepReplaced(bench.store, checked, chosen);
  const ready = asJudged(checked.ready, run);
  if (run.safe && !ready.safe && !edited) return refuseCall(noLongerSafe(call.name));
  const handed = await handOver(bench, run, { ready, chosen: runs }, context);
  if (handed) return handed;
  if (!needsClaim(ready)) await endUnclaimed(bench, run);
  const ran = needsClaim(ready)
    ? await underClaim(bench, call, run, { ready, chosen: runs })
    : await runReady(bench, run, { ready, input: runs.input }, context);
  return ran.kind === 'verdict' ? withApproval(ran, runs) : ran;
}

/** Another attempt may have been faster. */
async function underClaim(
  bench: Workbench,
  call: CallRequest,
  run: CallRun,
  claimable: Claimable,
): Promise<Verdict | Void | Asked> {
  const ran = await runClaimed(bench, run, claimable);
  return ran.kind === 'taken' ? await recoverCall(bench, call, run, ran) : ran;
}

/** Ends the processes that an earlier attempt left of a call without a claim. */
async function endUnclaimed({ host }: Workbench, { key, mayHaveBegun }: CallRun): Promise<void> {
  if (mayHaveBegun) await host.endTree({ callId: callIdOf(key) });
}

/**
 * Whether a call changes nothing depends on what lies in the workspace, which others change
 * meanwhile: with the reply it is judged once, and this decided what the call runs beside. What was
 * unsafe then stays so.
 */
function asJudged(ready: ReadyCall, { safe }: CallRun): ReadyCall {
  return { ...ready, safe: ready.safe && safe };
}

const noLongerSafe = (name: string): string =>
  `Not run: when ${name} was called it would have changed nothing, and now it might. Make the call again.`;

function needsClaim({ safe, tool }: ReadyCall): boolean {
  return !safe && tool.recovery !== 'rerun';
}

async function format(
  bench: Workbench,
  call: CallRequest,
  key: CallKey | null,
  verdict: Verdict,
  began: number,
): Promise<RecordedOutcome> {
  return await formatOutcome(bench.store, { ...call, key }, verdict, performance.now() - began);
}
