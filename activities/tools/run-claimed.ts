// Runs a call that may not be repeated: its claim is durable first, and whoever finds it claimed does not run it (L40).
import { claimCall, recordStopped, type Taken } from './journal.ts';
import type { Chosen } from './approval.ts';
import type { ReadyCall } from './prepare.ts';
import { abortCause } from './run-tool.ts';
import { runReady } from './run-ready.ts';
import { endsCall, stoppedBefore } from './verdict.ts';
import { toolContext } from './tool-context.ts';
import type { Verdict } from './verdict.ts';
import type { CallRun, Void, Workbench } from './workbench.ts';

export type Claimable = { readonly ready: ReadyCall; readonly byHook: boolean; readonly chosen: Chosen };

/** Of all attempts ever, one runs the call under this generation of its claim. */
export async function runClaimed(
  bench: Workbench,
  run: CallRun,
  { ready, byHook, chosen }: Claimable,
  generation = 1,
): Promise<Verdict | Void | Taken> {
  const { signal } = run;
  if (signal.aborted && !endsCall(abortCause(signal))) return stoppedBefore(abortCause(signal));
  const { store, session, host } = bench;
  const call = { session, key: run.key };
  const changed = byHook ? await store.put(Buffer.from(JSON.stringify(chosen.input))) : chosen.stored;
  const facts = { tool: ready.tool.name, input: ready.input, changed, approved: chosen.approved, host: host.identity };
  if (!(await run.fence())) return { kind: 'void', cause: 'superseded' };
  const claim = await claimCall(store, call, facts, generation);
  if (claim.kind === 'taken') return claim;
  const began = !signal.aborted;
  const context = toolContext(bench, { ...run, id: run.key, generation });
  const verdict = await runReady(bench, run, { ready, input: chosen.input }, context);
  if (verdict.kind === 'void' || !began) {
    const { cause, tool } = verdict.kind === 'void' ? verdict : { cause: abortCause(signal) };
    const stopped = { cause, began: began && tool !== 'untouched', at: Date.now() };
    await recordStopped(store, call, { ...stopped, ...(tool === 'hung' ? { hung: true } : {}) }, generation);
  }
  return verdict;
}
