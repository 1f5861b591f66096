// Runs one hook to its end: a function or a command, within its time, its answer checked. Never throws for what a hook does.
import { untilAborted } from '../async.ts';
import type { CommandHook, FunctionHook, Hook, HookInput } from './hook-config.ts';
import { readAnswer, type ReadAnswer } from './hook-answers.ts';
import { clip } from '../text.ts';
import { DETAIL_LIMIT, thrownText } from './hook-text.ts';
import type { AtExit } from '../process/at-exit.ts';
import type { HookName } from './hooks.ts';
import { runCommand, type CommandEnd, type Hold } from './run-command.ts';

/** `refused`: a command ended with status 2, and this is what it said. */
export type HookEnd<Name extends HookName> = ReadAnswer<Name> | { readonly kind: 'refused'; readonly text: string };

export type HookRun<Name extends HookName> = {
  readonly input: HookInput<Name>;
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
  readonly atExit: AtExit;
  /** Holds the commands that want it. */
  readonly hold?: Hold | undefined;
};

const TIMEOUT_MS = 60_000;

/** Kinds of hooks that a command may answer by status 2 alone. */
const REFUSING: readonly HookName[] = ['preTool', 'promptSubmitted', 'stop'];

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

const late = (timeoutMs: number): string => `timed out after ${timeoutMs} ms`;

/** A function that does not heed its signal is no longer waited for. */
async function byFunction<Name extends HookName>(
  run: FunctionHook<Name>['run'],
  { input, signal }: HookRun<Name>,
  timeoutMs: number,
): Promise<HookEnd<Name>> {
  const time = new AbortController();
  const timer = setTimeout(() => time.abort(), timeoutMs);
  const both = AbortSignal.any([signal, time.signal]);
  try {
    const answer = await untilAborted(both, () => run(structuredClone(input), { signal: both }));
    return readAnswer(input.hook, answer);
  } catch (error) {
    if (time.signal.aborted) return failed(late(timeoutMs));
    if (signal.aborted) return failed('stopped');
    return failed(thrownText(error));
  } finally {
    clearTimeout(timer);
  }
}

async function byCommand<Name extends HookName>(
  { command, sandbox = false }: CommandHook,
  { input, hold, ...given }: HookRun<Name>,
  timeoutMs: number,
): Promise<HookEnd<Name>> {
  const { hook, cwd } = input;
  if (sandbox && hold === undefined) return failed('nothing here can hold it, and it must not run without its sandbox');
  const told = `${JSON.stringify(input)}\n`;
  const end = await runCommand({ ...given, command, cwd, input: told, timeoutMs, hold: sandbox ? hold : undefined });
  if (end.kind === 'exit') return ofExit(hook, end);
  if (end.kind === 'timeout') return failed(late(timeoutMs));
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
  if (stdout.trim() === '') return readAnswer(hook, undefined);
  try {
    return readAnswer(hook, JSON.parse(stdout) as unknown);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return failed(`its output is not JSON: ${error.message}`);
  }
}
