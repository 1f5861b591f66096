// Checks a call before anything runs, in the order of L33: name and schema, the tool's own check,
// pre-tool hooks, permission.
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { isInside } from '../../system/process/places.ts';
import { clip } from '../../system/text.ts';
import { copyForObservers } from '../../tools/observed-input.ts';
import type { HookOpinion } from '../../tools/rules/permission.ts';
import type { ContextModifier, Tool, ToolContext } from '../../tools/tool.ts';
import type { ToolContextState } from '../../workflows/contract/activities.ts';
import { present } from '../../workflows/contract/present.ts';
import { buildHookContext, type PreToolVerdict } from '../hooks/hooks.ts';
import type { CallEnvironment, ToolCall, VoidAttempt } from './call-context.ts';
import { abortCause, asJson, guardTool, validateInput } from './call-tool.ts';
import { prepareCall, type PreparedCall, type ReadyCall } from './prepare.ts';
import { type CallVerdict, denyCall, refuseCall, refuseFatally, reportStopped, stopByHook } from './verdict.ts';

/** `input` is the value before the schema; `by` says who put it in place of the call's own. */
export type JudgedInput = { readonly ready: ReadyCall; readonly input: unknown; readonly by?: ReplacedBy | undefined };

type ReplacedBy = 'hook' | 'check';

type CheckResult =
  ({ readonly kind: 'ready' } & JudgedInput) | ({ readonly kind: 'ask' } & JudgedInput) | CallVerdict | VoidAttempt;

/**
 * Someone was asked: hooks do not run again, the question is not put again, and the call runs as it
 * was allowed or as they edited it (L55).
 */
type DecisionKind = 'as_asked' | 'edited';

type CheckRequest = {
  readonly input: unknown;
  readonly context: ToolContext;
  readonly decided?: DecisionKind | undefined;
};

/** Prepares the call with an input, by the rules and what a hook has said. */
type Prepare = (input: unknown) => PreparedCall;

type FittingCall = { readonly kind: 'fits' } & JudgedInput;

export async function checkCall(call: ToolCall, request: CheckRequest): Promise<CheckResult> {
  const { context, decided } = request;
  if (!(await isFolderUnchanged(context))) return refuseLostFolder(call.environment, context);
  const prepare: Prepare = (input) => call.prepareWith(input);
  const first = await fitInput(prepare, request);
  if (first.kind !== 'fits') return first;
  if (decided) return applyPermission(first, decided);
  const opinion = await runPreToolHooks(call, first.ready.tool, first.input);
  if (opinion === null) return applyPermission(first);
  // A hook that was stopped has given no verdict, and no person may be asked in its place.
  const { signal } = call.run;
  if (signal.aborted) return reportStopped(abortCause(signal));
  const { name } = first.ready.tool;
  const { decision, stop } = opinion;
  if (stop !== null && !(decision?.kind === 'deny' && decision.fatal)) return stopByHook(name, stop);
  if (decision?.kind === 'deny') return denyCall(name, { ...decision, why: `a hook denied it: ${decision.why}` });
  return await applyHookOpinion(call, request, first, { decision, input: opinion.input });
}

async function applyHookOpinion(
  call: ToolCall,
  checking: CheckRequest,
  before: FittingCall,
  opinion: { readonly decision: HookOpinion | null; readonly input: unknown },
): Promise<CheckResult> {
  const { environment, name } = call;
  const { decision: hook } = opinion;
  const prepare: Prepare = (input) =>
    hook === null
      ? call.prepareWith(input)
      : prepareCall(environment.registry, { ...environment, hook }, { name, input });
  if (opinion.input === undefined) {
    if (hook === null) return applyPermission(before);
    const again = await prepareInput(prepare, checking, before.input);
    return again.kind === 'fits' ? applyPermission({ ...again, by: before.by }) : again;
  }
  const again = await fitInput(prepare, { ...checking, input: asJson(opinion.input) });
  if (again.kind === 'verdict') return { ...again, content: `A hook changed the input. ${again.content}` };
  if (again.kind !== 'fits') return again;
  return refuseUnsafeChange(before.ready, again.ready, 'a hook') ?? applyPermission({ ...again, by: 'hook' });
}

/**
 * Refuses a call that a changed input made unsafe: it was admitted to run in parallel, or at once
 * (L35).
 */
function refuseUnsafeChange(
  { safe, tool: { name } }: ReadyCall,
  after: ReadyCall,
  by: string,
): CallVerdict | undefined {
  if (!safe || after.safe) return undefined;
  return refuseCall(`Not run: ${by} changed the input of ${name} from one that changes nothing into one that does.`);
}

/** Applies the schema and the tool's own check, which may replace the input. */
async function fitInput(prepare: Prepare, checking: CheckRequest): Promise<FittingCall | CallVerdict | VoidAttempt> {
  const { input, context, decided } = checking;
  const first = await prepareInput(prepare, checking, input);
  if (first.kind !== 'fits') return first;
  const { tool } = first.ready;
  const checked = await validateInput(tool, first.ready.input, context);
  if (checked === 'hung') return reportStopped(abortCause(context.signal));
  if (checked !== undefined && 'problem' in checked) return markInputRefusal(refuseCall(checked.problem));
  if (checked === undefined || decided === 'as_asked') return first;
  const again = await prepareInput(prepare, checking, checked.input);
  const whose = `the check of ${tool.name}`;
  if (again.kind === 'verdict') return { ...again, content: `The input was changed by ${whose}. ${again.content}` };
  if (again.kind !== 'fits') return again;
  return refuseUnsafeChange(first.ready, again.ready, whose) ?? { ...again, by: 'check' };
}

/** Checks name and schema and asks the tool's own rule, which may answer later. */
async function prepareInput(
  prepare: Prepare,
  { context }: CheckRequest,
  input: unknown,
): Promise<FittingCall | CallVerdict | VoidAttempt> {
  const found = prepare(input);
  if (found.kind === 'invalid')
    return found.fatal ? refuseFatally(found.text) : markInputRefusal(refuseCall(found.text));
  const { undecided } = found;
  if (undecided === undefined) return { kind: 'fits', ready: found, input };
  const ruled = await guardTool(found.tool, context.signal, () => undecided);
  if (ruled.kind === 'value') return { kind: 'fits', ready: ruled.value, input };
  if (ruled.kind === 'stopped') return reportStopped(ruled.cause);
  const text = `Not run: ${ruled.text}`;
  return ruled.fatal ? refuseFatally(text) : refuseCall(text);
}

const markInputRefusal = (verdict: CallVerdict): CallVerdict => ({ ...verdict, ofInput: true });

function applyPermission({ ready, input, by }: FittingCall, decided?: DecisionKind): CheckResult {
  const { permission, tool } = ready;
  if (permission.kind === 'deny') {
    const verdict = denyCall(tool.name, permission);
    // A fatal outcome ends the run, no matter who wrote the input (L34).
    return verdict.facts.fatal ? verdict : markInputRefusal(verdict);
  }
  return { kind: permission.kind === 'ask' && !decided ? 'ask' : 'ready', ready, input, by };
}

/**
 * Refuses a call whose working directory is gone, because elsewhere it could do something that was
 * not meant. The model is told, and the workspace is the working directory again.
 */
function refuseLostFolder({ cwd }: CallEnvironment, { dir }: ToolContext): CallVerdict {
  const text = `Not run: the working directory ${dir} is gone. It is the workspace ${cwd} again: make the call anew.`;
  return refuseCall(text, { modify: { cwd } });
}

// Checks a tool's context modifier (L38) before the loop gets it: a folder inside the workspace,
// and bounded names.
/** The loop's state is bounded, and these are part of it. */
const MAX_PATH = 4_096;
const MAX_TOOLS = 100;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

type WorkingFolder = { readonly cwd: string; readonly dir: string };

/**
 * Checks what a tool returned, so its type is only a promise. A returned text says why it is
 * refused.
 */
export async function checkModifier(modify: ContextModifier, place: WorkingFolder): Promise<ToolContextState | string> {
  const { cwd, allowedTools } = modify;
  if (allowedTools !== undefined && !isToolList(allowedTools)) {
    return `the list of allowed tools is not one of at most ${MAX_TOOLS} tool names`;
  }
  const folder = cwd === undefined ? null : await findFolderInside(cwd, place);
  if (typeof folder === 'string') return folder;
  return { ...(folder === null ? {} : { cwd: folder.path }), ...present({ allowedTools }) };
}

function isToolList(list: unknown): list is readonly string[] {
  if (!Array.isArray(list) || list.length > MAX_TOOLS) return false;
  return list.every((name) => typeof name === 'string' && TOOL_NAME.test(name));
}

async function findFolderInside(cwd: unknown, place: WorkingFolder): Promise<{ readonly path: string } | string> {
  if (typeof cwd !== 'string' || cwd === '' || cwd.length > MAX_PATH) return 'the working directory is no path';
  const real = await resolveFolder(resolve(place.dir, cwd));
  const named = `the working directory ${JSON.stringify(clip(cwd, 300))}`;
  if (real === null) return `${named} is not a folder`;
  return isInside(place.cwd, real) ? { path: real } : `${named} is outside the workspace`;
}

/** Tells whether the working directory is still a real folder of the workspace, and no link. */
export async function isFolderUnchanged({ cwd, dir }: WorkingFolder): Promise<boolean> {
  return dir === cwd || ((await resolveFolder(dir)) === dir && isInside(cwd, dir));
}

/** Returns null for a path that cannot be reached or does not lead to a folder. */
async function resolveFolder(path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : null;
  } catch {
    return null;
  }
}

// The pre- and post-tool hooks around one call (L33, L41). A hook that fails is shown to watchers
// and changes nothing.
/** Returns null when the worker has no such hook. */
export async function runPreToolHooks(call: ToolCall, tool: Tool, input: unknown): Promise<PreToolVerdict | null> {
  const { environment, run } = call;
  if (!environment.hooks.has('preTool', tool.name)) return null;
  return await environment.hooks.preTool(buildHookContext(environment, run, { write: run.say }), {
    name: tool.name,
    input: copyForObservers(tool, input),
    ...pickCallFacts(call),
  });
}

const pickCallFacts = ({ environment: { mode }, block: { id: toolUseId } }: ToolCall) => ({ mode, toolUseId });

/** Asks the post-tool hooks about a call that has run and ended by itself. */
export async function runPostToolHooks(
  call: ToolCall,
  { tool, input }: { readonly tool: Tool; readonly input: unknown },
  verdict: CallVerdict,
): Promise<CallVerdict> {
  const { environment, run } = call;
  const hasRun = verdict.outcome === 'ok' || verdict.outcome === 'error';
  if (!hasRun || !environment.hooks.has('postTool', tool.name)) return verdict;
  const { content, isError } = verdict;
  const facts = {
    name: tool.name,
    input: copyForObservers(tool, input),
    content,
    isError,
    ...pickCallFacts(call),
  };
  const answers = await environment.hooks.postTool(buildHookContext(environment, run, { write: run.say }), facts);
  const added = answers.context.map(({ hook, text }) => `From the hook ${hook}:\n${text}`);
  const stop = verdict.facts.stop ?? answers.stop;
  return {
    ...verdict,
    content: [content, ...added].filter((part) => part !== '').join('\n\n'),
    facts: stop === null ? verdict.facts : { ...verdict.facts, stop: clip(stop) },
  };
}
