// The options of `run` and `start`: what people write, checked before anything is started.
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { optionsProblem, permissionModes } from '../../workflows/contract/options-problem.ts';
import type { PermissionMode, PermissionRules, RunOptions } from '../../workflows/contract/session.ts';
import { sessionIdProblem } from '../session-id.ts';
import { parseDuration } from './duration.ts';
import { UsageError } from './errors.ts';

export type RunFlags = {
  readonly cwd?: string;
  readonly model?: string;
  readonly maxTurns?: string;
  readonly maxBudgetUsd?: string;
  readonly timeout?: string;
  readonly session?: string;
  readonly systemPrompt?: string;
  readonly permissionMode?: string;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly ask?: readonly string[];
};

const LARGEST_SYSTEM_PROMPT = 100_000;

export function addRunOptions(command: Command): Command {
  return command
    .option('--cwd <dir>', 'the workspace: where it works, and all it can touch (default: here)')
    .option('--model <name>', 'the model')
    .option('--max-turns <n>', 'end after so many turns')
    .option('--max-budget-usd <x>', 'end before it costs more, in US dollars')
    .option('--timeout <time>', 'end after so long: 1500ms, 90s, 30m, 2h')
    .option('--session <id>', 'the session’s id; the task is its next message when it is open already')
    .option('--system-prompt <text>', 'instructions that stand above the task')
    .addOption(new Option('--permission-mode <mode>', permissionModes.join(', ')))
    .option('--allow <rule>', 'run it unasked, such as "bash(npm test:*)", "write(src/**)"; repeatable', added)
    .option('--deny <rule>', 'never run it, whatever the mode; repeatable', added)
    .option('--ask <rule>', 'ask before it, whatever allows it; repeatable', added);
}

const added = (rule: string, before: readonly string[] = []): readonly string[] => [...before, rule];

/** Only what was given. Throws UsageError. */
export function runOptions(flags: RunFlags, base: () => string): Partial<RunOptions> & { readonly session?: string } {
  const { model, systemPrompt, permissionMode, session } = flags;
  const given = {
    ...(flags.cwd === undefined ? {} : { cwd: workspace(flags.cwd, base()) }),
    ...(model === undefined ? {} : { model }),
    ...(flags.maxTurns === undefined ? {} : { maxTurns: number('--max-turns', flags.maxTurns) }),
    ...(flags.maxBudgetUsd === undefined ? {} : { maxBudgetUsd: number('--max-budget-usd', flags.maxBudgetUsd) }),
    ...(flags.timeout === undefined ? {} : { timeoutMs: duration(flags.timeout) }),
    ...(systemPrompt === undefined ? {} : { systemPrompt: systemPromptOf(systemPrompt) }),
    ...(permissionMode === undefined ? {} : { permissionMode: permissionMode as PermissionMode }),
    ...rulesOf(flags),
  };
  const problem = optionsProblem(given) ?? (session === undefined ? undefined : sessionIdProblem(session));
  if (problem !== undefined) throw new UsageError(problem);
  return { ...given, ...(session === undefined ? {} : { session }) };
}

function rulesOf({ allow, deny, ask }: RunFlags): { readonly permissions?: PermissionRules } {
  if (allow === undefined && deny === undefined && ask === undefined) return {};
  return { permissions: { ...(allow && { allow }), ...(deny && { deny }), ...(ask && { ask }) } };
}

/** An absolute path of a directory that can be read. Throws UsageError. */
export function workspace(dir: string, base: string): string {
  const path = resolve(base, dir);
  try {
    if (!statSync(path).isDirectory()) throw new UsageError(`${path} is not a directory: give one with --cwd`);
    accessSync(path, constants.R_OK | constants.X_OK);
    return path;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    const why =
      code === 'EACCES' ? 'cannot be read' : code === 'ENOENT' ? 'does not exist' : `cannot be used (${String(code)})`;
    throw new UsageError(`the directory ${path} ${why}: give another with --cwd`);
  }
}

function number(flag: string, text: string): number {
  const value = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new UsageError(`${flag} ${JSON.stringify(text)} is no number`);
  return value;
}

function duration(text: string): number {
  const value = parseDuration(text);
  if (value === null)
    throw new UsageError(`--timeout ${JSON.stringify(text)} is no time: write 1500ms, 90s, 30m or 2h`);
  return value;
}

function systemPromptOf(text: string): string {
  if (text.length <= LARGEST_SYSTEM_PROMPT) return text;
  const most = LARGEST_SYSTEM_PROMPT.toLocaleString('en');
  throw new UsageError(`the system prompt has ${text.length.toLocaleString('en')} characters, at most ${most} will do`);
}
