// Runs one hook to its end: a function or a command, within its time, its answer checked. Never
// throws for what a hook does.
import { existsSync } from 'node:fs';
import { runWithin, TimedOut } from '../../system/async.ts';
import type { HookName } from './payloads.ts';
import type { CommandHook, FunctionHook, Hook, HookAnswers, HookInput } from './hook-config.ts';
import { clip } from '../../system/text.ts';
import type { ExitHandlers } from '../../system/process/kill-tree.ts';
import type { PipePlace } from '../../system/process/pipes.ts';
import { type CommandEnd, type CommandHold, runHookCommand } from './run-command.ts';
import { z } from 'zod';
import { DEEPEST_INPUT, isDeeperThan } from '../../system/json.ts';

/** `refused`: a command ended with status 2 and printed `text`. */
export type HookEnd<Name extends HookName> = CheckedAnswer<Name> | { readonly kind: 'refused'; readonly text: string };

type HookRun<Name extends HookName> = {
  readonly input: HookInput<Name>;
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
  readonly atExit: ExitHandlers;
  readonly pipes: PipePlace;
  /** The folder in which a command without a workspace gets one. */
  readonly apart: string;
  /** Holds the commands that want it. */
  readonly hold?: CommandHold | undefined;
};

const TIMEOUT_MS = 60_000;

/** Answers of these hooks are not read: a pager says `ok`, in its own way. */
const ALERTS: readonly HookName[] = ['waiting', 'failed', 'agentEnded', 'silent'];

/** Kinds of hooks that a command may answer by status 2 alone. */
const REFUSING: readonly HookName[] = ['preTool', 'promptSubmitted', 'stop', 'agentIdle'];

export function nameHook<Name extends HookName>(hook: Hook<Name>): string {
  if (typeof hook === 'function') return hook.name === '' ? 'function' : hook.name;
  if (hook.name !== undefined) return hook.name;
  if ('run' in hook) return hook.run.name === '' || hook.run.name === 'run' ? 'function' : hook.run.name;
  return clip(typeof hook.command === 'string' ? hook.command : hook.command.join(' '), 80);
}

export async function runHook<Name extends HookName>(hook: Hook<Name>, run: HookRun<Name>): Promise<HookEnd<Name>> {
  const timeoutMs = (typeof hook === 'function' ? undefined : hook.timeoutMs) ?? TIMEOUT_MS;
  if (run.signal.aborted) return hookFailure('stopped before it ran');
  const end =
    typeof hook !== 'function' && 'command' in hook
      ? await answerByCommand(hook, run, timeoutMs)
      : await runFunction(typeof hook === 'function' ? hook : hook.run, run, timeoutMs);
  return end.kind === 'failed' ? hookFailure(clip(end.detail, DETAIL_LIMIT)) : end;
}

const hookFailure = (detail: string) => ({ kind: 'failed', detail }) as const;

/** Runs a function, and stops waiting for one that does not heed its signal. */
async function runFunction<Name extends HookName>(
  run: FunctionHook<Name>['run'],
  { input, signal }: HookRun<Name>,
  timeoutMs: number,
): Promise<HookEnd<Name>> {
  try {
    const answer = await runWithin(timeoutMs, signal, (either) => run(structuredClone(input), { signal: either }));
    return readAnswer(input.hook, ALERTS.includes(input.hook) ? undefined : answer);
  } catch (error) {
    if (error instanceof TimedOut) return hookFailure(error.message);
    return hookFailure(signal.aborted ? 'stopped' : describeThrown(error));
  }
}

async function answerByCommand<Name extends HookName>(
  { command, sandbox = false }: CommandHook,
  { input, hold, ...options }: HookRun<Name>,
  timeoutMs: number,
): Promise<HookEnd<Name>> {
  const { hook } = input;
  // An alert may be told where the workspace is not: on another host, or when it is gone.
  const cwd = ALERTS.includes(hook) && !existsSync(input.cwd ?? '') ? null : input.cwd;
  if (sandbox && hold === undefined)
    return hookFailure('nothing here can hold it, and it must not run without its sandbox');
  if (sandbox && hold !== undefined && hold.refusal !== null) return refuseCommand(hook, hold.refusal);
  const text = `${JSON.stringify(input)}\n`;
  const { folders } = input;
  const end = await runHookCommand({
    ...options,
    command,
    cwd,
    folders,
    input: text,
    timeoutMs,
    hold: sandbox ? hold : undefined,
  });
  if (end.kind === 'exit') return readExit(hook, end);
  if (end.kind === 'timeout') return hookFailure(new TimedOut(timeoutMs).message);
  if (end.kind === 'too_much') return hookFailure('printed more than 1 MiB');
  if (end.kind === 'stopped') return hookFailure('stopped');
  return hookFailure(`could not be started: ${end.detail}`);
}

/** A guard of calls that cannot run denies them: its failure would let each one through. */
function refuseCommand<Name extends HookName>(hook: Name, refusal: string): HookEnd<Name> {
  return hook === 'preTool' ? { kind: 'refused', text: `its hook did not run: ${refusal}` } : hookFailure(refusal);
}

function readExit<Name extends HookName>(
  hook: Name,
  { code, stdout, stderr }: Extract<CommandEnd, { kind: 'exit' }>,
): HookEnd<Name> {
  const text = stderr.trim();
  if (code === 2 && REFUSING.includes(hook)) return { kind: 'refused', text };
  if (code !== 0) {
    const status = code === null ? 'was killed' : `ended with status ${code}`;
    return hookFailure(text === '' ? status : `${status}: ${text}`);
  }
  if (stdout.trim() === '' || ALERTS.includes(hook)) return readAnswer(hook, undefined);
  try {
    return readAnswer(hook, JSON.parse(stdout) as unknown);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return hookFailure(`its output is not JSON: ${error.message}`);
  }
}

/** Characters of a text that is stored or sent to the model. */
export const CONTEXT_LIMIT = 10_000;
/** Characters of a text that becomes part of the workflow's history. */
export const WORKFLOW_LIMIT = 4_000;
const DETAIL_LIMIT = 500;

// The exact shapes of what hooks may answer. They are strict: a misspelt key is a failure that is
// reported, not an opinion that is lost.
const text = z.string();
const reason = z.string().min(1);

const SCHEMAS: { readonly [Name in HookName]: z.ZodType<HookAnswers[Name]> } = {
  sessionStart: z.strictObject({ context: text.optional() }),
  promptSubmitted: z.strictObject({ context: text.optional(), stop: reason.optional() }),
  preTool: z
    .strictObject({
      decision: z.enum(['allow', 'ask', 'deny']).optional(),
      reason: text.optional(),
      fatal: z.boolean().optional(),
      input: z.record(z.string(), z.unknown()).optional(),
      stop: reason.optional(),
    })
    .refine(({ fatal, decision }) => fatal !== true || decision === 'deny', {
      path: ['fatal'],
      message: 'only a decision to deny can be fatal',
    }),
  postTool: z.strictObject({ context: text.optional(), stop: reason.optional() }),
  postSampling: z.strictObject({}),
  preCompact: z.strictObject({ instructions: text.optional() }),
  postCompact: z.strictObject({}),
  stop: z.strictObject({ block: reason.optional(), prevent: reason.optional() }),
  agentIdle: z.strictObject({ block: reason.optional(), prevent: reason.optional() }),
  sessionEnd: z.strictObject({}),
  waiting: z.strictObject({}),
  failed: z.strictObject({}),
  agentEnded: z.strictObject({}),
  silent: z.strictObject({}),
};

type AnswerFailure = { readonly kind: 'failed'; readonly detail: string };

type CheckedAnswer<Name extends HookName> =
  { readonly kind: 'answer'; readonly answer: HookAnswers[Name] } | AnswerFailure;

/**
 * Checks an answer. `value` is untrusted: a function returned it or a command printed it. Nothing
 * means no opinion. The answer is a copy, JSON through and through: it is told to commands and
 * stored, and a function may answer anything, or change it later.
 */
function readAnswer<Name extends HookName>(hook: Name, value: unknown): CheckedAnswer<Name> {
  const json = copyAnswer(value ?? {});
  if (json.kind === 'failed') return json;
  const read = SCHEMAS[hook].safeParse(json.value);
  if (read.success) return { kind: 'answer', answer: read.data };
  const issue = read.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  return { kind: 'failed', detail: `its answer is not one of a ${hook} hook: ${where}${issue?.message ?? ''}` };
}

function copyAnswer(value: unknown): { readonly kind: 'json'; readonly value: unknown } | AnswerFailure {
  try {
    const written = JSON.stringify(value) as string | undefined;
    if (written === undefined) return refuseAnswer(`it is a ${typeof value}`);
    const copy: unknown = JSON.parse(written);
    return isDeeperThan(copy, DEEPEST_INPUT)
      ? refuseAnswer(`it is nested more than ${DEEPEST_INPUT} levels deep`)
      : { kind: 'json', value: copy };
  } catch (error) {
    // It is a bigint, a circle, a getter that throws, more levels than the stack holds: the first
    // line says which.
    return refuseAnswer(describeThrown(error).split('\n')[0] ?? '');
  }
}

const refuseAnswer = (why: string): AnswerFailure => ({ kind: 'failed', detail: `its answer is not JSON: ${why}` });

/** Prints what a function threw, which need not be an error. */
function describeThrown(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    // It is an object without a prototype, a proxy, or a message that throws: words cannot tell it.
    return `threw what has no text (${typeof error})`;
  }
}
