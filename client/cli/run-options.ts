// The options of `run` and `start`: what people write, checked before anything is started.
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { optionsProblem, permissionModes } from '../../workflows/contract/options-problem.ts';
import type { PermissionMode, PermissionRules, RunOptions } from '../../workflows/contract/session.ts';
import { sessionIdProblem } from '../session-id.ts';
import { parseDuration } from './duration.ts';
import { UsageError } from './errors.ts';
import { readSchema } from './read-schema.ts';

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
  readonly fallbackModel?: readonly string[];
  readonly maxTokens?: string;
  readonly tokenBudget?: string;
  readonly taskBudget?: string;
  readonly thinking?: string;
  readonly outputSchema?: string;
  readonly approvalTimeout?: string;
  readonly wrapUp?: boolean;
};

const LARGEST_SYSTEM_PROMPT = 100_000;

export function addRunOptions(command: Command): Command {
  return command
    .option('--cwd <dir>', 'the workspace: where it works, and all it can touch (default: here)')
    .option('--model <name>', 'the model')
    .option('--fallback-model <name>', 'go on with it when one before is overloaded or missing; repeatable', added)
    .option('--max-turns <n>', 'end after so many turns')
    .option('--max-budget-usd <x>', 'end before it costs more, in US dollars')
    .option('--max-tokens <n>', 'end before it takes more tokens, of all kinds')
    .option('--token-budget <n>', 'output tokens to spend before it may stop by itself')
    .option('--task-budget <n>', 'tokens for the task, which the model is told')
    .option('--thinking <n>', 'think with so many tokens in each reply')
    .option('--output-schema <file>', 'a JSON schema that the final answer has to satisfy')
    .option('--timeout <time>', 'end after so long: 1500ms, 90s, 30m, 2h')
    .option('--wrap-up', 'before a limit ends it, say what is done and what is not: one more call, no turn')
    .option('--no-wrap-up', 'not even where the worker is configured to')
    .option('--session <id>', 'the session’s id; the task is its next message when it is open already')
    .option('--system-prompt <text>', 'instructions that stand above the task')
    .addOption(new Option('--permission-mode <mode>', permissionModes.join(', ')))
    .option('--allow <rule>', 'run it unasked, such as "bash(npm test:*)", "write(src/**)"; repeatable', added)
    .option('--deny <rule>', 'never run it, whatever the mode; repeatable', added)
    .option('--ask <rule>', 'ask before it, whatever allows it; repeatable', added)
    .option('--approval-timeout <time>', 'what nobody decides about for so long is denied');
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
    ...(flags.timeout === undefined ? {} : { timeoutMs: duration('--timeout', flags.timeout) }),
    ...(flags.wrapUp === undefined ? {} : { wrapUp: flags.wrapUp }),
    ...(systemPrompt === undefined ? {} : { systemPrompt: systemPromptOf(systemPrompt) }),
    ...(permissionMode === undefined ? {} : { permissionMode: permissionMode as PermissionMode }),
    ...rulesOf(flags),
    ...tokensOf(flags),
    ...(flags.fallbackModel === undefined ? {} : { fallbackModels: flags.fallbackModel }),
    ...(flags.outputSchema === undefined ? {} : { outputSchema: readSchema(resolve(base(), flags.outputSchema)) }),
    ...(flags.approvalTimeout === undefined
      ? {}
      : { approvalTimeoutMs: duration('--approval-timeout', flags.approvalTimeout) }),
  };
  const problem = optionsProblem(given) ?? (session === undefined ? undefined : sessionIdProblem(session));
  if (problem !== undefined) throw new UsageError(problem);
  return { ...given, ...(session === undefined ? {} : { session }) };
}

function rulesOf({ allow, deny, ask }: RunFlags): { readonly permissions?: PermissionRules } {
  if (allow === undefined && deny === undefined && ask === undefined) return {};
  return { permissions: { ...(allow && { allow }), ...(deny && { deny }), ...(ask && { ask }) } };
}

function tokensOf({ maxTokens, tokenBudget, taskBudget, thinking }: RunFlags): Partial<RunOptions> {
  return {
    ...(maxTokens === undefined ? {} : { maxTokens: number('--max-tokens', maxTokens) }),
    ...(tokenBudget === undefined ? {} : { tokenBudget: number('--token-budget', tokenBudget) }),
    ...(taskBudget === undefined ? {} : { taskBudget: number('--task-budget', taskBudget) }),
    ...(thinking === undefined ? {} : { thinkingTokens: number('--thinking', thinking) }),
  };
}

/** An absolute path of a directory that can be read. Throws UsageError. */
export function workspace(dir: string, base: string): string {
  // A variable of the shell that is not set must not aim the agent at the folder it happens to be called in.
  if (dir === '') throw new UsageError('--cwd is empty: name a directory, or . for this one');
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

function duration(flag: string, text: string): number {
  const value = parseDuration(text);
  if (value === null) throw new UsageError(`${flag} ${JSON.stringify(text)} is no time: write 1500ms, 90s, 30m or 2h`);
  return value;
}

function systemPromptOf(text: string): string {
  if (text.length <= LARGEST_SYSTEM_PROMPT) return text;
  const most = LARGEST_SYSTEM_PROMPT.toLocaleString('en');
  throw new UsageError(`the system prompt has ${text.length.toLocaleString('en')} characters, at most ${most} will do`);
}
