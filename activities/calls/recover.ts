// Recovers a call that was started and has no outcome (L40). Its processes on this host are ended
// first. Then its tool's check, or a person, may say that it runs again, under a claim of the next
// generation, which one attempt gets. Otherwise its outcome is reported as unknown.
import type { Decision } from '../../workflows/contract/activities.ts';
import { questionHash } from '../../workflows/contract/ids.ts';
import {
  askAgain,
  pickDecider,
  readEditedInput,
  storeReplacedInput,
  readStoredInput,
  addApproval,
  type ChosenInput,
} from './approval.ts';
import { checkCall } from './check-call.ts';
import { hashInput, MAX_GENERATIONS, type TakenCall } from './journal.ts';
import {
  endLeftovers,
  describeLivingWorker,
  describeTakenCall,
  describeStart,
  type Leftovers,
} from './claim-report.ts';
import { clip } from '../../system/text.ts';
import type { ReadyCall } from './prepare.ts';
import { concludeOutput, runClaimed } from './run-ready.ts';
import { endsCall, reportStopped, reportTakenCall, type CallVerdict } from './verdict.ts';
import { abortCause, verifyCall } from './call-tool.ts';
import type { ApprovalNeeded, ClaimedCall, VoidAttempt } from './call-context.ts';
import { present } from '../../workflows/contract/present.ts';

type RecoveryResult = CallVerdict | VoidAttempt | ApprovalNeeded;
type Report = (extra?: string, denial?: Extract<Decision, { kind: 'deny' }>) => CallVerdict;
type RunAgain = { readonly kind: 'again'; readonly ready: ReadyCall; readonly chosen: ChosenInput };

export async function recoverCall(call: ClaimedCall, claimed: TakenCall): Promise<RecoveryResult> {
  const { environment, run } = call;
  // Another attempt has the claim. If this one was given up without knowing, its effects and words
  // no longer count (L50). The claim alone does not tell: a reset, or a server that lost its last
  // moments, makes the older attempt ours.
  if (!(await run.fence('now'))) return { kind: 'void', cause: 'superseded' };
  const left = await endLeftovers(environment, run.key, claimed);
  const report = makeReport(claimed, left);
  const { decision, signal } = run;
  if (decision?.kind === 'deny') {
    const sentence = decision.expired
      ? 'Whether it runs again was for a person to say'
      : 'A person decided that it does not run again';
    return report(`${sentence}: ${clip(decision.reason)}.`, decision);
  }
  const chosen = await readStartedInput(call, claimed);
  const ready = call.prepareWith(chosen.input);
  if (ready.kind === 'invalid' || claimed.generation >= MAX_GENERATIONS) return report();
  const next = await mayRunAgain(call, { claimed, left, report, ready, chosen });
  if (next.kind !== 'again') return next;
  if (signal.aborted) return endsCall(abortCause(signal)) ? report() : reportStopped(abortCause(signal));
  const ran = await runClaimed(call, next, claimed.generation + 1);
  // Another attempt was faster, and may be running it.
  if (ran.kind === 'taken') return makeReport(ran, left)();
  return ran.kind === 'verdict' ? addApproval(ran, next.chosen) : ran;
}

function makeReport(claimed: TakenCall, left: Leftovers): Report {
  return (extra = '', denial) => {
    const { approved } = claimed.claim;
    const verdict = reportTakenCall(describeTakenCall(claimed, left, extra), denial);
    return approved === undefined ? verdict : { ...verdict, approved };
  };
}

/** Reads the input that the call was started with. */
async function readStartedInput(
  { environment: { store }, block: { input } }: ClaimedCall,
  { claim }: TakenCall,
): Promise<ChosenInput> {
  const { changed, approved } = claim;
  const by = {
    ...present({ approved }),
    ...(approved?.editedHash === undefined ? {} : { edited: true as const }),
  };
  return changed === undefined
    ? { input, ...by }
    : { input: await readStoredInput(store, changed), stored: changed, ...by };
}

type LostCall = {
  readonly claimed: TakenCall;
  readonly left: Leftovers;
  readonly report: Report;
  readonly ready: ReadyCall;
  readonly chosen: ChosenInput;
};

async function mayRunAgain(call: ClaimedCall, started: LostCall): Promise<RecoveryResult | RunAgain> {
  const { claimed, report, ready, chosen } = started;
  const { recovery } = ready.tool;
  const { signal } = call.run;
  if (recovery !== 'verify' && recovery !== 'ask') return report();
  // It is too late to ask a person, and a check would be cut off.
  if (signal.aborted && endsCall(abortCause(signal))) return report();

  // The last attempt is known to have been stopped before it called the tool.
  if (claimed.stopped?.began === false) return { kind: 'again', ready, chosen };
  return recovery === 'verify' ? await verifyStarted(call, started) : await askToRunAgain(call, started);
}

async function verifyStarted(
  call: ClaimedCall,
  { claimed, left, report, ready, chosen }: LostCall,
): Promise<CallVerdict | VoidAttempt | RunAgain> {
  const { at, host } = claimed.claim;
  const context = call.buildContext();
  call.run.begins();
  const startedCall = { at, host: host.host, times: claimed.generation };
  const found = await verifyCall(ready.tool, ready.input, context, startedCall);
  const { signal } = call.run;
  if (found.kind === 'done')
    return await concludeOutput(call, { ready, input: chosen.input, output: found.output }, context);
  if (signal.aborted && !endsCall(abortCause(signal))) return reportStopped(abortCause(signal));
  if (found.kind === 'not_done' && left.mayGoOn)
    return report(`Its check found nothing done, but ${describeLivingWorker(claimed)}.`);
  if (found.kind === 'not_done') return { kind: 'again', ready, chosen };
  return report(clip(found.text ?? ''));
}

/**
 * Asks a person whether the call runs again. The decision is for this generation alone: its number
 * is part of the hash it is bound to.
 */
async function askToRunAgain(
  call: ClaimedCall,
  { claimed, left, report, ready, chosen }: LostCall,
): Promise<CallVerdict | VoidAttempt | ApprovalNeeded | RunAgain> {
  const { environment } = call;
  const hash = questionHash(chosen.stored ?? hashInput(chosen.input), claimed.generation + 1);
  const doubt = left.mayGoOn ? `; ${describeLivingWorker(claimed)}` : '';
  const question = `${describeStart(claimed)} and its outcome is unknown${doubt}; allow to run it again`;
  const { decision } = call.run;
  if (decision?.kind !== 'allow' || decision.inputHash !== hash) {
    // This mode asks no one, and no check has said that the call did nothing (L55).
    if (environment.mode === 'dontAsk' || environment.mode === 'bypass') return report();
    return { kind: 'ask', ask: { tool: call.name, reason: clip(question, 500), inputHash: hash } };
  }
  if (decision.edited === undefined) {
    return {
      kind: 'again',
      ready,
      chosen: { ...chosen, approved: { ...chosen.approved, inputHash: hash, ...pickDecider(decision) } },
    };
  }
  const edited = await readEditedInput(environment.store, decision, decision.edited);
  if (typeof edited === 'string') return askAgain(call, hash, edited, question);
  const context = call.buildContext();
  const checked = await checkCall(call, { input: edited.input, context, decided: 'edited' });
  if (checked.kind === 'void') return checked;
  if (checked.kind === 'verdict') {
    return checked.ofInput ? askAgain(call, hash, checked.content, question) : report(checked.content);
  }
  return { kind: 'again', ready: checked.ready, chosen: await storeReplacedInput(environment.store, checked, edited) };
}
