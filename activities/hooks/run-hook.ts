// Runs one hook to its end: a function or a command, within its time, its answer checked. Never
// throws for what a hook does.
import { existsSync } from 'node:fs';
import { z } from 'zod';
import { TimedOut, runWithin } from '../../system/async.ts';
import type { CommandHook, FunctionHook, Hook, HookInput, HookName, HookAnswers } from './hooks.ts';
import { clip } from '../../system/text.ts';
import type { ExitHandlers } from '../../system/process/at-exit.ts';
import type { PipePlace } from '../../system/process/pipes.ts';
import { runCommand, type CommandEnd, type Hold } from './run-command.ts';
import { isDeeperThan, DEEPEST_INPUT } from '../../system/json.ts';

/** `refused`: a command ended with status 2, and this is what it said. */
export type HookEnd<Name extends HookName> = ReadAnswer<Name> | { readonly kind: 'refused'; readonly text: string };

type HookRun<Name extends HookName> = {
  readonly input: HookInput<Name>;
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
  readonly atExit: ExitHandlers;
  readonly pipes: PipePlace;
  /** Where a command without a workspace gets a folder. */
  readonly apart: string;
  /** Holds the commands that want it. */
  readonly hold?: Hold | undefined;
};

const TIMEOUT_MS = 60_000;

/** What they print or return is read by nobody: a pager says `ok`, in its own way. */
const ALERTS: readonly HookName[] = ['waiting', 'failed', 'agentEnded'];

/** Kinds of hooks that a command may answer by status 2 alone. */
const REFUSING: readonly HookName[] = ['preTool', 'promptSubmitted', 'stop', 'agentIdle'];

export function hookName<Name extends HookName>(hook: Hook<Name>): string {
  if (typeof hook === 'function') return hook.name === '' ? 'function' : hook.name;
  if (hook.name !== undefined) return hook.name;
  if ('run' in hook) return hook.run.name === '' || hook.run.name === 'run' ? 'function' : hook.run.name;
  return clip(typeof hook.command === 'string' ? hook.command : hook.command.join(' '), 80);
}

export async function runHook<Name extends HookName>(hook: Hook<Name>, run: HookRun<Name>): Promise<HookEnd<Name>> {
  const timeoutMs = (typeof hook === 'function' ? undefined : hook.timeoutMs) ?? TIMEOUT_MS;
  if (run.signal.aborted) return failed('stopped before it ran');
  const end =
    typeof hook !== 'function' && 'command' in hook
      ? await byCommand(hook, run, timeoutMs)
      : await byFunction(typeof hook === 'function' ? hook : hook.run, run, timeoutMs);
  return end.kind === 'failed' ? failed(clip(end.detail, DETAIL_LIMIT)) : end;
}

const failed = (detail: string) => ({ kind: 'failed', detail }) as const;

/** A function that does not heed its signal is no longer waited for. */
async function byFunction<Name extends HookName>(
  run: FunctionHook<Name>['run'],
  { input, signal }: HookRun<Name>,
  timeoutMs: number,
): Promise<HookEnd<Name>> {
  try {
    const answer = await runWithin(timeoutMs, signal, (either) => run(structuredClone(input), { signal: either }));
    return readAnswer(input.hook, ALERTS.includes(input.hook) ? undefined : answer);
  } catch (error) {
    if (error instanceof TimedOut) return failed(error.message);
    return failed(signal.aborted ? 'stopped' : thrownText(error));
  }
}

async function byCommand<Name extends HookName>(
  { command, sandbox = false }: CommandHook,
  { input, hold, ...given }: HookRun<Name>,
  timeoutMs: number,
): Promise<HookEnd<Name>> {
  const { hook } = input;
  // An alert may be told where the workspace is not: on another host, or when it is gone.
  const cwd = ALERTS.includes(hook) && !existsSync(input.cwd ?? '') ? null : input.cwd;
  if (sandbox && hold === undefined) return failed('nothing here can hold it, and it must not run without its sandbox');
  const told = `${JSON.stringify(input)}\n`;
  const { folders } = input;
  const end = await runCommand({
    ...given,
    command,
    cwd,
    folders,
    input: told,
    timeoutMs,
    hold: sandbox ? hold : undefined,
  });
  if (end.kind === 'exit') return ofExit(hook, end);
  if (end.kind === 'timeout') return failed(new TimedOut(timeoutMs).message);
  if (end.kind === 'too_much') return failed('printed more than 1 MiB');
  if (end.kind === 'stopped') return failed('stopped');
  return failed(`could not be started: ${end.detail}`);
}

function ofExit<Name extends HookName>(
  hook: Name,
  { code, stdout, stderr }: Extract<CommandEnd, { kind: 'exit' }>,
): HookEnd<Name> {
  const said = stderr.trim();
  if (code === 2 && REFUSING.includes(hook)) return { kind: 'refused', text: said };
  if (code !== 0) {
    const status = code === null ? 'was killed' : `ended with status ${code}`;
    return failed(said === '' ? status : `${status}: ${said}`);
  }
  if (stdout.trim() === '' || ALERTS.includes(hook)) return readAnswer(hook, undefined);
  try {
    return readAnswer(hook, JSON.parse(stdout) as unknown);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return failed(`its output is not JSON: ${error.message}`);
  }
}

// The exact shapes of what hooks may answer. Strict: a misspelt key is a failure that is reported,
// not an opinion that is lost.

const text = z.string();
const reason = z.string().min(1);

const schemas: { readonly [Name in HookName]: z.ZodType<HookAnswers[Name]> } = {
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
};

type Failed = { readonly kind: 'failed'; readonly detail: string };

type ReadAnswer<Name extends HookName> = { readonly kind: 'answer'; readonly answer: HookAnswers[Name] } | Failed;

/**
 * `value` is untrusted: whatever a function returned or a command printed. Nothing means no
 * opinion. The answer is a copy, JSON through and through: it is told to commands and stored, and a
 * function may answer anything, or change it later.
 */
function readAnswer<Name extends HookName>(hook: Name, value: unknown): ReadAnswer<Name> {
  const json = asJson(value ?? {});
  if (json.kind === 'failed') return json;
  const read = schemas[hook].safeParse(json.value);
  if (read.success) return { kind: 'answer', answer: read.data };
  const issue = read.error.issues[0];
  const where = issue === undefined || issue.path.length === 0 ? '' : `${issue.path.join('.')}: `;
  return { kind: 'failed', detail: `its answer is not one of a ${hook} hook: ${where}${issue?.message ?? ''}` };
}

function asJson(value: unknown): { readonly kind: 'json'; readonly value: unknown } | Failed {
  try {
    const written = JSON.stringify(value) as string | undefined;
    if (written === undefined) return failedHook(`it is a ${typeof value}`);
    const copy: unknown = JSON.parse(written);
    return isDeeperThan(copy, DEEPEST_INPUT)
      ? failedHook(`it is nested more than ${DEEPEST_INPUT} levels deep`)
      : { kind: 'json', value: copy };
  } catch (error) {
    // A bigint, a circle, a getter that throws, more levels than the stack holds: the first line
    // says which.
    return failedHook(thrownText(error).split('\n')[0] ?? '');
  }
}

const failedHook = (why: string): Failed => ({ kind: 'failed', detail: `its answer is not JSON: ${why}` });

// How much of what hooks say is kept, in characters: what is stored or sent to the model, what
// travels through the workflow, what only says what went wrong.

export const CONTEXT_LIMIT = 10_000;
/** Characters of a text that becomes part of the workflow's history. */
export const WORKFLOW_LIMIT = 4_000;
const DETAIL_LIMIT = 500;

/** A function may throw anything, not only errors. */
function thrownText(error: unknown): string {
  try {
    return String(error instanceof Error ? error.message : error);
  } catch {
    // An object without a prototype, a proxy, a message that throws: it cannot be told in words.
    return `threw what has no text (${typeof error})`;
  }
}
