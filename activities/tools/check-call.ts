// What comes before anything runs, in the order of L33: name and schema, the tool's own check, pre-tool hooks, permission.
import type { HookOpinion } from './permission.ts';
import { isStillThere } from './modifier.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { abortCause, validateInput } from './run-tool.ts';
import { askPreTool } from './tool-hooks.ts';
import type { ToolContext } from './tool.ts';
import { denied, invalid, stoppedBefore, stoppedByHook, type Verdict } from './verdict.ts';
import type { CallRequest, EarlyRun, Void, Workbench } from './workbench.ts';

/** `input` as it was before the schema; `byHook`: a hook put it in place of the call's own. */
export type Judged = { readonly ready: ReadyCall; readonly input: unknown; readonly byHook: boolean };

export type Checked = ({ readonly kind: 'ready' } & Judged) | ({ readonly kind: 'ask' } & Judged) | Verdict | Void;

export type Checking = {
  readonly call: Pick<CallRequest, 'name'>;
  readonly input: unknown;
  readonly context: ToolContext;
  /** Someone was asked: hooks do not run again, and nobody is asked again (L55). */
  readonly decided: boolean;
};

type Fitting = { readonly kind: 'fits'; readonly ready: ReadyCall } | Verdict | Void;

export async function checkCall(
  bench: Workbench,
  run: Pick<EarlyRun, 'signal' | 'iteration' | 'say'>,
  checking: Checking,
): Promise<Checked> {
  const { input, context, decided } = checking;
  if (!(await isStillThere(context))) return movedAway(bench, context);
  const first = await fitting(bench, checking);
  if (first.kind !== 'fits') return first;
  if (decided) return permitted(first.ready, input, { decided });
  const said = await askPreTool(bench, run, first.ready.tool, input);
  if (said === null) return permitted(first.ready, input);
  // A hook that was stopped has said nothing, and nobody may be asked in its place.
  if (run.signal.aborted) return stoppedBefore(abortCause(run.signal));
  const { name } = first.ready.tool;
  if (said.stop !== null) return stoppedByHook(name, said.stop);
  const { decision } = said;
  if (decision?.kind === 'deny') return denied(name, { kind: 'deny', why: `a hook denied it: ${decision.why}` });
  return await withOpinion(bench, checking, first.ready, { decision, input: said.input });
}

async function withOpinion(
  bench: Workbench,
  checking: Checking,
  before: ReadyCall,
  said: { readonly decision: HookOpinion | null; readonly input: unknown },
): Promise<Checked> {
  const byHook = said.input !== undefined;
  if (!byHook && said.decision === null) return permitted(before, checking.input);
  const input = byHook ? plain(said.input) : checking.input;
  const settings = said.decision === null ? bench : { ...bench, hook: said.decision };
  const again = await fitting(settings, { ...checking, input }, byHook);
  if (again.kind === 'verdict' && byHook) return { ...again, content: `A hook changed the input. ${again.content}` };
  if (again.kind !== 'fits') return again;
  if (before.safe && !again.ready.safe) {
    // It was admitted to run beside others, or at once (L35).
    const { name } = before.tool;
    return invalid(`Not run: a hook changed the input of ${name} from one that changes nothing into one that does.`);
  }
  return permitted(again.ready, input, { byHook });
}

/** A hook may be a function and hand over anything: what is no JSON fits no schema. */
function plain(input: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(input));
  } catch {
    return undefined;
  }
}

/** Schema and the tool's own check. */
async function fitting(bench: Workbench, { call, input, context }: Checking, validate = true): Promise<Fitting> {
  const prepared = prepareCall(bench.registry, bench, { name: call.name, input });
  if (prepared.kind === 'invalid') return ofInput(invalid(prepared.text));
  const problem = validate ? await validateInput(prepared.tool, prepared.input, context) : undefined;
  if (problem === 'hung') return stoppedBefore(abortCause(context.signal));
  return problem === undefined ? { kind: 'fits', ready: prepared } : ofInput(invalid(problem.problem));
}

const ofInput = (verdict: Verdict): Verdict => ({ ...verdict, ofInput: true });

function permitted(ready: ReadyCall, input: unknown, { decided = false, byHook = false } = {}): Checked {
  const { permission, tool } = ready;
  if (permission.kind === 'deny') {
    const verdict = denied(tool.name, permission);
    // What ends the run ends it, whoever wrote the input (L34).
    return verdict.facts.fatal ? verdict : ofInput(verdict);
  }
  return { kind: permission.kind === 'ask' && !decided ? 'ask' : 'ready', ready, input, byHook };
}

/** Run elsewhere, the call could do what was not meant: the model is told, and the workspace is the working directory again. */
function movedAway({ cwd }: Workbench, { dir }: ToolContext): Verdict {
  const text = `Not run: the working directory ${dir} is gone. It is the workspace ${cwd} again: make the call anew.`;
  return invalid(text, { modify: { cwd } });
}
