// A call that was started and has no outcome (L40). What is left of it on this host is ended first.
// Then its tool's check, or a person, may say that it runs again, under a claim of the next
// generation: of several attempts one gets that. Otherwise its outcome is reported as unknown.
import type { Decision } from '../../workflows/contract/activities.ts';
import { questionHash } from '../../workflows/contract/ids.ts';
import { askAgain, decidedBy, editedInput, keepReplaced, storedInput, withApproval, type Chosen } from './approval.ts';
import { checkCall } from './check-call.ts';
import { inputHash, MAX_GENERATIONS, type Taken } from './journal.ts';
import { endLeftovers, describeLiving, reportTaken, startedText, type Leftovers } from './claim-report.ts';
import { clip } from '../../system/text.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { answerCall, runClaimed } from './run-ready.ts';
import { endsCall, reportStopped, reportUnknown as takenVerdict, type Verdict } from './verdict.ts';
import { abortCause, verifyCall } from './call-tool.ts';
import { toolContext, type Asked, type CallRequest, type CallRun, type Void, type Workbench } from './workbench.ts';

type Recovered = Verdict | Void | Asked;
type Report = (extra?: string, denial?: Extract<Decision, { kind: 'deny' }>) => Verdict;
type Again = { readonly kind: 'again'; readonly ready: ReadyCall; readonly chosen: Chosen };

export async function recoverCall(
  bench: Workbench,
  call: CallRequest,
  run: CallRun,
  claimed: Taken,
): Promise<Recovered> {
  // Another attempt has it: was ours given up without knowing, what it does or says no longer
  // counts (L50). The claim itself says nothing about that: a reset, or a server that lost its last
  // moments, makes the older one ours.
  if (!(await run.fence('now'))) return { kind: 'void', cause: 'superseded' };
  const left = await endLeftovers(bench, run.key, claimed);
  const report = reporter(claimed, left);
  const { decision, signal } = run;
  if (decision?.kind === 'deny') {
    const said = decision.expired
      ? 'Whether it runs again was for a person to say'
      : 'A person decided that it does not run again';
    return report(`${said}: ${clip(decision.reason)}.`, decision);
  }
  const chosen = await startedInput(bench, call, claimed);
  const ready = prepareCall(bench.registry, bench, { name: call.name, input: chosen.input });
  if (ready.kind === 'invalid' || claimed.generation >= MAX_GENERATIONS) return report();
  const next = await mayRunAgain(bench, call, run, { claimed, left, report, ready, chosen });
  if (next.kind !== 'again') return next;
  if (signal.aborted) return endsCall(abortCause(signal)) ? report() : reportStopped(abortCause(signal));
  const ran = await runClaimed(bench, run, next, claimed.generation + 1);
  // Another attempt was faster, and may be running it.
  if (ran.kind === 'taken') return reporter(ran, left)();
  return ran.kind === 'verdict' ? withApproval(ran, next.chosen) : ran;
}

function reporter(claimed: Taken, left: Leftovers): Report {
  return (extra = '', denial) => {
    const { approved } = claimed.claim;
    const verdict = takenVerdict(reportTaken(claimed, left, extra), denial);
    return approved === undefined ? verdict : { ...verdict, approved };
  };
}

/** The input the call was started with. */
async function startedInput({ store }: Workbench, { input }: CallRequest, { claim }: Taken): Promise<Chosen> {
  const { changed, approved } = claim;
  const by = {
    ...(approved === undefined ? {} : { approved }),
    ...(approved?.editedHash === undefined ? {} : { edited: true as const }),
  };
  return changed === undefined
    ? { input, ...by }
    : { input: await storedInput(store, changed), stored: changed, ...by };
}

type Started = {
  readonly claimed: Taken;
  readonly left: Leftovers;
  readonly report: Report;
  readonly ready: ReadyCall;
  readonly chosen: Chosen;
};

async function mayRunAgain(
  bench: Workbench,
  call: CallRequest,
  run: CallRun,
  started: Started,
): Promise<Recovered | Again> {
  const { claimed, report, ready, chosen } = started;
  const { recovery } = ready.tool;
  const { signal } = run;
  if (recovery !== 'verify' && recovery !== 'ask') return report();
  // Nobody is asked any more, and a check would be cut off.
  if (signal.aborted && endsCall(abortCause(signal))) return report();

  // The last attempt is known to have been stopped before it called the tool.
  if (claimed.stopped?.began === false) return { kind: 'again', ready, chosen };
  return recovery === 'verify' ? await verified(bench, run, started) : await allowed(bench, call, run, started);
}

async function verified(
  bench: Workbench,
  run: CallRun,
  { claimed, left, report, ready, chosen }: Started,
): Promise<Verdict | Void | Again> {
  const { at, host } = claimed.claim;
  const context = toolContext(bench, { ...run, id: run.key, generation: null });
  run.begins();
  const startedCall = { at, host: host.host, times: claimed.generation };
  const found = await verifyCall(ready.tool, ready.input, context, startedCall);
  const { signal } = run;
  if (found.kind === 'done') return await answerCall(bench, run, { ready, input: chosen.input }, context, found.output);
  if (signal.aborted && !endsCall(abortCause(signal))) return reportStopped(abortCause(signal));
  if (found.kind === 'not_done' && left.mayGoOn)
    return report(`Its check found nothing done, but ${describeLiving(claimed)}.`);
  if (found.kind === 'not_done') return { kind: 'again', ready, chosen };
  return report(clip(found.text ?? ''));
}

/** The decision is for this generation alone: its number is part of the hash it is bound to. */
async function allowed(
  bench: Workbench,
  call: CallRequest,
  run: CallRun,
  { claimed, left, report, ready, chosen }: Started,
): Promise<Verdict | Void | Asked | Again> {
  const hash = questionHash(chosen.stored ?? inputHash(chosen.input), claimed.generation + 1);
  const doubt = left.mayGoOn ? `; ${describeLiving(claimed)}` : '';
  const question = `${startedText(claimed)} and its outcome is unknown${doubt}; allow to run it again`;
  const { decision } = run;
  if (decision?.kind !== 'allow' || decision.inputHash !== hash) {
    // Nobody is asked, and nobody has said that it did nothing (L55).
    if (bench.mode === 'dontAsk' || bench.mode === 'bypass') return report();
    return { kind: 'ask', ask: { tool: call.name, reason: clip(question, 500), inputHash: hash } };
  }
  if (decision.edited === undefined) {
    return {
      kind: 'again',
      ready,
      chosen: { ...chosen, approved: { ...chosen.approved, inputHash: hash, ...decidedBy(decision) } },
    };
  }
  const edited = await editedInput(bench.store, decision, decision.edited);
  if (typeof edited === 'string') return askAgain(call, hash, edited, question);
  const context = toolContext(bench, { ...run, id: run.key, generation: null });
  const checked = await checkCall(bench, run, { call, input: edited.input, context, decided: 'edited' });
  if (checked.kind === 'void') return checked;
  if (checked.kind === 'verdict') {
    return checked.ofInput ? askAgain(call, hash, checked.content, question) : report(checked.content);
  }
  return { kind: 'again', ready: checked.ready, chosen: await keepReplaced(bench.store, checked, edited) };
}
