// Checks a call before anything runs, in the order of L33: name and schema, the tool's own check,
// pre-tool hooks, permission.
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { HookOpinion } from '../../tools/rules/permission.ts';
import { prepareCall, type ReadyCall } from './prepare.ts';
import { abortCause, asJson, guardTool, validateInput } from './call-tool.ts';
import type { ToolContext, Tool, ContextModifier } from '../../tools/tool.ts';
import { denyCall, fatalRefusal, refuseCall, reportStopped, stoppedByHook, type Verdict } from './verdict.ts';
import type { CallRequest, EarlyRun, Void, Workbench } from './workbench.ts';
import { hookContext } from '../hooks/hook-context.ts';
import type { PreToolVerdict } from '../hooks/hooks.ts';
import { clip } from '../../system/text.ts';
import type { ToolContextState } from '../../workflows/contract/activities.ts';
import { isInside } from '../../system/process/places.ts';
import { copyForObservers } from '../../tools/observed-input.ts';

/** `input` as it was before the schema; `by`: whoever put it in place of the call's own. */
export type Judged = { readonly ready: ReadyCall; readonly input: unknown; readonly by?: ReplacedBy | undefined };

type ReplacedBy = 'hook' | 'check';

type Checked = ({ readonly kind: 'ready' } & Judged) | ({ readonly kind: 'ask' } & Judged) | Verdict | Void;

/**
 * Someone was asked: hooks do not run again, nobody is asked again, and what was allowed runs as it
 * is, or as they edited it (L55).
 */
type Decided = 'as_asked' | 'edited';

type Checking = {
  readonly call: Pick<CallRequest, 'name'>;
  readonly input: unknown;
  readonly context: ToolContext;
  readonly decided?: Decided | undefined;
};

type Fits = { readonly kind: 'fits' } & Judged;

export async function checkCall(
  bench: Workbench,
  run: Pick<EarlyRun, 'signal' | 'iteration' | 'say' | 'toolUseId'>,
  checking: Checking,
): Promise<Checked> {
  const { context, decided } = checking;
  if (!(await isStillThere(context))) return movedAway(bench, context);
  const first = await fitting(bench, checking);
  if (first.kind !== 'fits') return first;
  if (decided) return permitted(first, decided);
  const said = await askPreTool(bench, run, first.ready.tool, first.input);
  if (said === null) return permitted(first);
  // A hook that was stopped has said nothing, and nobody may be asked in its place.
  if (run.signal.aborted) return reportStopped(abortCause(run.signal));
  const { name } = first.ready.tool;
  const { decision, stop } = said;
  if (stop !== null && !(decision?.kind === 'deny' && decision.fatal)) return stoppedByHook(name, stop);
  if (decision?.kind === 'deny') return denyCall(name, { ...decision, why: `a hook denied it: ${decision.why}` });
  return await withOpinion(bench, checking, first, { decision, input: said.input });
}

async function withOpinion(
  bench: Workbench,
  checking: Checking,
  before: Fits,
  said: { readonly decision: HookOpinion | null; readonly input: unknown },
): Promise<Checked> {
  const settings = said.decision === null ? bench : { ...bench, hook: said.decision };
  if (said.input === undefined) {
    if (said.decision === null) return permitted(before);
    const again = await prepared(settings, checking, before.input);
    return again.kind === 'fits' ? permitted({ ...again, by: before.by }) : again;
  }
  const again = await fitting(settings, { ...checking, input: asJson(said.input) });
  if (again.kind === 'verdict') return { ...again, content: `A hook changed the input. ${again.content}` };
  if (again.kind !== 'fits') return again;
  return madeUnsafe(before.ready, again.ready, 'a hook') ?? permitted({ ...again, by: 'hook' });
}

/** It was admitted to run beside others, or at once (L35). */
function madeUnsafe({ safe, tool: { name } }: ReadyCall, after: ReadyCall, by: string): Verdict | undefined {
  if (!safe || after.safe) return undefined;
  return refuseCall(`Not run: ${by} changed the input of ${name} from one that changes nothing into one that does.`);
}

/** Schema and the tool's own check, which may put another input in the place of this one. */
async function fitting(bench: Workbench, checking: Checking): Promise<Fits | Verdict | Void> {
  const { input, context, decided } = checking;
  const first = await prepared(bench, checking, input);
  if (first.kind !== 'fits') return first;
  const { tool } = first.ready;
  const said = await validateInput(tool, first.ready.input, context);
  if (said === 'hung') return reportStopped(abortCause(context.signal));
  if (said !== undefined && 'problem' in said) return ofInput(refuseCall(said.problem));
  if (said === undefined || decided === 'as_asked') return first;
  const again = await prepared(bench, checking, said.input);
  const whose = `the check of ${tool.name}`;
  if (again.kind === 'verdict') return { ...again, content: `The input was changed by ${whose}. ${again.content}` };
  if (again.kind !== 'fits') return again;
  return madeUnsafe(first.ready, again.ready, whose) ?? { ...again, by: 'check' };
}

/** Name and schema, and the tool's own rule, which may answer later. */
async function prepared(bench: Workbench, { call, context }: Checking, input: unknown): Promise<Fits | Verdict | Void> {
  const found = prepareCall(bench.registry, bench, { name: call.name, input });
  if (found.kind === 'invalid') return found.fatal ? fatalRefusal(found.text) : ofInput(refuseCall(found.text));
  const { undecided } = found;
  if (undecided === undefined) return { kind: 'fits', ready: found, input };
  const ruled = await guardTool(found.tool, context.signal, () => undecided);
  if (ruled.kind === 'value') return { kind: 'fits', ready: ruled.value, input };
  if (ruled.kind === 'stopped') return reportStopped(ruled.cause);
  const text = `Not run: ${ruled.text}`;
  return ruled.fatal ? fatalRefusal(text) : refuseCall(text);
}

const ofInput = (verdict: Verdict): Verdict => ({ ...verdict, ofInput: true });

function permitted({ ready, input, by }: Fits, decided?: Decided): Checked {
  const { permission, tool } = ready;
  if (permission.kind === 'deny') {
    const verdict = denyCall(tool.name, permission);
    // A fatal outcome ends the run, whoever wrote the input (L34).
    return verdict.facts.fatal ? verdict : ofInput(verdict);
  }
  return { kind: permission.kind === 'ask' && !decided ? 'ask' : 'ready', ready, input, by };
}

/**
 * Run elsewhere, the call could do what was not meant: the model is told, and the workspace is the
 * working directory again.
 */
function movedAway({ cwd }: Workbench, { dir }: ToolContext): Verdict {
  const text = `Not run: the working directory ${dir} is gone. It is the workspace ${cwd} again: make the call anew.`;
  return refuseCall(text, { modify: { cwd } });
}

// Pre- and post-tool hooks around one call (L33, L41): what they are told, and what they change. A
// hook that fails is shown to watchers, and changes nothing.

type HookedRun = Pick<EarlyRun, 'signal' | 'iteration' | 'say' | 'toolUseId'>;

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
    ...ofCall(bench, run),
  });
}

const ofCall = ({ mode }: Workbench, { toolUseId }: HookedRun) => ({ mode, ...(toolUseId && { toolUseId }) });

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
  const call = { name: tool.name, input: copyForObservers(tool, input), content, isError, ...ofCall(bench, run) };
  const said = await bench.hooks.postTool(hookContext(bench, run, { write: run.say }), call);
  const added = said.context.map(({ hook, text }) => `From the hook ${hook}:\n${text}`);
  const stop = verdict.facts.stop ?? said.stop;
  return {
    ...verdict,
    content: [content, ...added].filter((part) => part !== '').join('\n\n'),
    facts: stop === null ? verdict.facts : { ...verdict.facts, stop: clip(stop) },
  };
}

// A tool's context modifier (L38), checked before the loop hears of it: a folder inside the
// workspace, names in bounds.

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

/**
 * Whether the working directory is still what it was when it was set: a folder of the workspace,
 * and no link.
 */
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
