// Checks a call before anything runs, in the order of L33: name and schema, the tool's own check, pre-tool hooks, permission.
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { HookOpinion } from '../rules/permission.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { abortCause, validateInput } from './call-tool.ts';
import type { ToolContext, Tool, ContextModifier } from '../tool.ts';
import { denyCall, fatalRefusal, refuseCall, reportStopped, stoppedByHook, type Verdict } from './verdict.ts';
import type { CallRequest, EarlyRun, Void, Workbench } from './workbench.ts';
import { hookContext } from '../../hooks/hook-context.ts';
import type { PreToolVerdict } from '../../hooks/hooks.ts';
import { clip } from '../../text.ts';
import type { ToolContextState } from '../../../workflows/contract/activities.ts';
import { isInside } from '../../process/places.ts';
import { checkInput } from '../../schema/input-schema.ts';

/** `input` as it was before the schema; `byHook`: a hook put it in place of the call's own. */
export type Judged = { readonly ready: ReadyCall; readonly input: unknown; readonly byHook: boolean };

type Checked = ({ readonly kind: 'ready' } & Judged) | ({ readonly kind: 'ask' } & Judged) | Verdict | Void;

type Checking = {
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
  if (run.signal.aborted) return reportStopped(abortCause(run.signal));
  const { name } = first.ready.tool;
  const { decision, stop } = said;
  if (stop !== null && !(decision?.kind === 'deny' && decision.fatal)) return stoppedByHook(name, stop);
  if (decision?.kind === 'deny') return denyCall(name, { ...decision, why: `a hook denied it: ${decision.why}` });
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
    return refuseCall(`Not run: a hook changed the input of ${name} from one that changes nothing into one that does.`);
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
  if (prepared.kind === 'invalid')
    return prepared.fatal ? fatalRefusal(prepared.text) : ofInput(refuseCall(prepared.text));
  const problem = validate ? await validateInput(prepared.tool, prepared.input, context) : undefined;
  if (problem === 'hung') return reportStopped(abortCause(context.signal));
  return problem === undefined ? { kind: 'fits', ready: prepared } : ofInput(refuseCall(problem.problem));
}

const ofInput = (verdict: Verdict): Verdict => ({ ...verdict, ofInput: true });

function permitted(ready: ReadyCall, input: unknown, { decided = false, byHook = false } = {}): Checked {
  const { permission, tool } = ready;
  if (permission.kind === 'deny') {
    const verdict = denyCall(tool.name, permission);
    // A fatal outcome ends the run, whoever wrote the input (L34).
    return verdict.facts.fatal ? verdict : ofInput(verdict);
  }
  return { kind: permission.kind === 'ask' && !decided ? 'ask' : 'ready', ready, input, byHook };
}

/** Run elsewhere, the call could do what was not meant: the model is told, and the workspace is the working directory again. */
function movedAway({ cwd }: Workbench, { dir }: ToolContext): Verdict {
  const text = `Not run: the working directory ${dir} is gone. It is the workspace ${cwd} again: make the call anew.`;
  return refuseCall(text, { modify: { cwd } });
}

// Pre- and post-tool hooks around one call (L33, L41): what they are told, and what they change. A hook that fails is shown to
// watchers, and changes nothing.

type HookedRun = Pick<EarlyRun, 'signal' | 'iteration' | 'say'>;

/** Null when there is no such hook. */
async function askPreTool(
  bench: Workbench,
  run: HookedRun,
  tool: Tool,
  input: unknown,
): Promise<PreToolVerdict | null> {
  if (!bench.hooks.has('preTool', tool.name)) return null;
  return await bench.hooks.preTool(hookContext(bench, run, { write: run.say }), {
    name: tool.name,
    input: copyForObservers(tool, input),
  });
}

/** Asks the post-tool hooks about a call that has run and ended by itself. */
export async function withPostTool(
  bench: Workbench,
  run: HookedRun,
  { tool, input }: { readonly tool: Tool; readonly input: unknown },
  verdict: Verdict,
): Promise<Verdict> {
  const hasRun = verdict.outcome === 'ok' || verdict.outcome === 'error';
  if (!hasRun || !bench.hooks.has('postTool', tool.name)) return verdict;
  const { content, isError } = verdict;
  const call = { name: tool.name, input: copyForObservers(tool, input), content, isError };
  const said = await bench.hooks.postTool(hookContext(bench, run, { write: run.say }), call);
  const added = said.context.map(({ hook, text }) => `From the hook ${hook}:\n${text}`);
  const stop = verdict.facts.stop ?? said.stop;
  return {
    ...verdict,
    content: [content, ...added].filter((part) => part !== '').join('\n\n'),
    facts: stop === null ? verdict.facts : { ...verdict.facts, stop: clip(stop) },
  };
}

// A tool's context modifier (L38), checked before the loop hears of it: a folder inside the workspace, names in bounds.

/** The loop's state is bounded, and these are part of it. */
const MAX_PATH = 4_096;
const MAX_TOOLS = 100;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

type Place = { readonly cwd: string; readonly dir: string };

/** Comes from a tool, so its type is only a promise. The text says why it will not do. */
export async function checkModifier(modify: ContextModifier, place: Place): Promise<ToolContextState | string> {
  const { cwd, allowedTools } = modify;
  if (allowedTools !== undefined && !isToolList(allowedTools)) {
    return `the list of allowed tools is not one of at most ${MAX_TOOLS} tool names`;
  }
  const folder = cwd === undefined ? null : await folderInside(cwd, place);
  if (typeof folder === 'string') return folder;
  return { ...(folder === null ? {} : { cwd: folder.path }), ...(allowedTools === undefined ? {} : { allowedTools }) };
}

function isToolList(list: unknown): list is readonly string[] {
  if (!Array.isArray(list) || list.length > MAX_TOOLS) return false;
  return list.every((name) => typeof name === 'string' && TOOL_NAME.test(name));
}

async function folderInside(cwd: unknown, place: Place): Promise<{ readonly path: string } | string> {
  if (typeof cwd !== 'string' || cwd === '' || cwd.length > MAX_PATH) return 'the working directory is no path';
  const real = await realFolder(resolve(place.dir, cwd));
  const named = `the working directory ${JSON.stringify(clip(cwd, 300))}`;
  if (real === null) return `${named} is not a folder`;
  return isInside(place.cwd, real) ? { path: real } : `${named} is outside the workspace`;
}

/** Whether the working directory is still what it was when it was set: a folder of the workspace, and no link. */
async function isStillThere({ cwd, dir }: Place): Promise<boolean> {
  return dir === cwd || ((await realFolder(dir)) === dir && isInside(cwd, dir));
}

/** Null for what cannot be reached or is no folder. */
async function realFolder(path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : null;
  } catch {
    return null;
  }
}

// A call's input as observers see it (L18): a copy that the tool may have enriched. The stored input, which the API gets, is never
// touched, and an observer that changes what it got changes only its copy.

/** JSON. Never throws: where the tool fails, or the input does not fit it, a copy of the input itself. */
export function copyForObservers(tool: Tool | undefined, input: unknown): unknown {
  return enriched(tool, input) ?? copy(input) ?? null;
}

function enriched(tool: Tool | undefined, input: unknown): unknown {
  if (tool?.backfillObservableInput === undefined) return undefined;
  try {
    const checked = checkInput(tool.inputSchema, structuredClone(input));
    return checked.ok ? copy(tool.backfillObservableInput(checked.value)) : undefined;
  } catch {
    // The tool's own code: whatever it throws, its call goes on, and observers see the plain input.
    return undefined;
  }
}

/** Undefined for what is no JSON, or too deep to be walked. */
function copy(value: unknown): unknown {
  try {
    const json = JSON.stringify(value) as string | undefined;
    return json === undefined ? undefined : (JSON.parse(json) as unknown);
  } catch {
    return undefined;
  }
}
