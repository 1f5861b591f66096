// One call from input to outcome, in the order of L33. Two callers: the model activity starts a safe call early, beside
// the stream (L37); the tool activity runs the others, with a claim, and records what they came to (L40).
import type { CallKey, SessionId } from '../../workflows/contract/ids.ts';
import type { PermissionMode, PermissionRules } from '../../workflows/contract/session.ts';
import type { ProcessIdentity } from '../process-identity.ts';
import type { Store } from '../transcript/store.ts';
import { callId, claimCall, recordStopped } from './claim.ts';
import { reportTaken } from './claim-report.ts';
import { formatOutcome } from './format-outcome.ts';
import { readOutcome, recordOutcome, type RecordedOutcome } from './outcome-record.ts';
import { prepareCall, type NamedInput, type PreparedCall, type ReadyCall } from './prepare.ts';
import { killTree } from './process/kill-tree.ts';
import type { ToolRegistry } from './registry.ts';
import { abortCause, runTool, validateInput } from './run-tool.ts';
import type { AbortCause, ToolContext } from './tool.ts';
import { toolContext } from './tool-context.ts';
import { denied, ended, invalid, notStarted, taken, type Verdict } from './verdict.ts';

/** What the calls of a run share. */
export type Workbench = {
  readonly registry: ToolRegistry;
  readonly mode: PermissionMode;
  readonly permissions?: PermissionRules;
  /** The workspace root: an absolute real path. */
  readonly cwd: string;
  readonly store: Store;
  readonly session: SessionId;
  /** This process: written into claims. */
  readonly host: ProcessIdentity;
  /** L13. */
  readonly queryId: string;
  readonly depth: number;
};

/** A tool_use block of a reply. */
export type CallRequest = NamedInput & { readonly index: number; readonly toolUseId: string };

export type EarlyRun = {
  /** Unique to this attempt: the call's own key needs the head of a reply that is not stored yet. */
  readonly id: string;
  /** Aborted with an AbortCause. */
  readonly signal: AbortSignal;
  progress(text: string): void;
};

export type CallRun = Omit<EarlyRun, 'id'> & {
  readonly key: CallKey;
  /** From 1. Of a call without a claim, what an earlier attempt left running is killed first. */
  readonly attempt: number;
};

export type Executed =
  | ({ readonly kind: 'done' } & RecordedOutcome)
  /** The attempt was stopped, the run was not (L50): nothing is recorded, another attempt runs the call or reports it. */
  | { readonly kind: 'void'; readonly cause: AbortCause };

/** A safe call beside the stream: no claim, nothing recorded. Throws StoreError. */
export async function executeEarly(
  bench: Workbench,
  call: CallRequest,
  prepared: PreparedCall,
  run: EarlyRun,
): Promise<Executed> {
  const started = performance.now();
  const context = toolContext(bench, { ...run, claimed: false });
  const checked = await check(bench.mode, prepared, context);
  const verdict = checked.kind === 'refused' ? checked.verdict : await runReady(checked.ready, context);
  if ('kind' in verdict) return verdict;
  return { kind: 'done', ...(await format(bench, call, null, verdict, started)) };
}

/** The whole of L33 for one call, at most once for what may not be repeated. Throws StoreError. */
export async function executeCall(bench: Workbench, call: CallRequest, run: CallRun): Promise<Executed> {
  const { store, session } = bench;
  const known = await readOutcome(store, session, run.key);
  if (known !== null) return { kind: 'done', ...known };
  const started = performance.now();
  const verdict = await attempt(bench, call, run);
  if ('kind' in verdict) return verdict;
  const outcome = await format(bench, call, run.key, verdict, started);
  return { kind: 'done', ...(await recordOutcome(store, session, run.key, outcome)) };
}

type Void = Extract<Executed, { kind: 'void' }>;

async function attempt(bench: Workbench, call: CallRequest, run: CallRun): Promise<Verdict | Void> {
  const prepared = prepareCall(bench.registry, bench, call);
  const claimed = prepared.kind === 'ready' && !prepared.safe && prepared.tool.recovery !== 'rerun';
  const context = toolContext(bench, { ...run, id: run.key, claimed });
  const checked = await check(bench.mode, prepared, context);
  if (checked.kind === 'refused') return checked.verdict;
  if (claimed) return await runClaimed(bench, checked.ready, run, context);
  if (run.attempt > 1) await killTree({ callId: callId(run.key) }, { graceMs: 0 });
  return await runReady(checked.ready, context);
}

type Checked =
  { readonly kind: 'ready'; readonly ready: ReadyCall } | { readonly kind: 'refused'; readonly verdict: Verdict };

/** What comes before anything runs: name and schema, the tool's own check, permission. */
async function check(mode: PermissionMode, prepared: PreparedCall, context: ToolContext): Promise<Checked> {
  if (prepared.kind === 'invalid') return { kind: 'refused', verdict: invalid(prepared.text) };
  const problem = await validateInput(prepared.tool, prepared.input, context);
  const verdict = problem === undefined ? denied(mode, prepared) : invalid(problem);
  return verdict === undefined ? { kind: 'ready', ready: prepared } : { kind: 'refused', verdict };
}

/** Claim, then run: whoever finds the call claimed reports instead (L40). */
async function runClaimed(
  { store, session, host }: Workbench,
  ready: ReadyCall,
  { key }: CallRun,
  context: ToolContext,
): Promise<Verdict | Void> {
  if (context.signal.aborted) return stoppedBefore(context.signal);
  const call = { session, key };
  const claim = await claimCall(store, call, { tool: ready.tool.name, input: ready.input, host });
  if (claim.kind === 'taken') return taken(await reportTaken(claim, callId(key), host));
  const began = !context.signal.aborted;
  const verdict = await runReady(ready, context);
  if ('kind' in verdict) await recordStopped(store, call, { cause: verdict.cause, began, at: Date.now() });
  return verdict;
}

async function runReady(ready: ReadyCall, context: ToolContext): Promise<Verdict | Void> {
  if (context.signal.aborted) return stoppedBefore(context.signal);
  const ran = await runTool(ready.tool, ready.input, context);
  if (ran.kind === 'stopped' && !endsCall(ran.cause)) return { kind: 'void', cause: ran.cause };
  return ended(ran, ready.safe);
}

function stoppedBefore(signal: AbortSignal): Verdict | Void {
  const cause = abortCause(signal);
  return endsCall(cause) ? notStarted(cause) : { kind: 'void', cause };
}

/** An interrupt and a failing sibling end the call; a deploy or a lost attempt ends only this attempt (L50). */
function endsCall(cause: AbortCause): boolean {
  return cause === 'interrupt' || cause === 'sibling';
}

async function format(
  bench: Workbench,
  call: CallRequest,
  key: CallKey | null,
  verdict: Verdict,
  started: number,
): Promise<RecordedOutcome> {
  return await formatOutcome(bench.store, { ...call, key }, verdict, performance.now() - started);
}
