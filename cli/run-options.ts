// The options of `run` and `start`: checks what people write before anything starts.
import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { efforts, optionsProblem, permissionModes, withChanges } from '../workflows/contract/options-problem.ts';
import type { Effort, OptionChanges, PermissionMode, RunOptions } from '../workflows/contract/session.ts';
import { sessionIdProblem } from '../client/sessions/session-id.ts';
import { UsageError } from './errors.ts';

import { modelProblem } from '../models/find-model.ts';

import { parseDuration } from '../client/units.ts';
import { addValue, fallbacksOf, foldersOf, isNone, NONE, tagsOf, toolEnvOf } from './repeatable.ts';
import { readSchema } from './output-schema.ts';
import { present } from '../workflows/contract/present.ts';

export type RunFlags = {
  readonly cwd?: string;
  readonly model?: string;
  readonly maxTurns?: string;
  readonly maxBudgetUsd?: string;
  readonly timeout?: string;
  readonly session?: string;
  readonly systemPrompt?: string;
  readonly appendSystemPrompt?: string;
  readonly tools?: string;
  readonly permissionMode?: string;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  readonly ask?: readonly string[];
  readonly fallbackModel?: readonly string[];
  readonly maxTokens?: string;
  readonly tokenBudget?: string;
  readonly taskBudget?: string;
  readonly thinking?: string;
  readonly effort?: string;
  readonly outputSchema?: string;
  readonly approvalTimeout?: string;
  readonly wrapUp?: boolean;
  readonly instructions?: boolean;
  readonly memory?: boolean;
  readonly toolEnv?: readonly string[];
  readonly addDir?: readonly string[];
  readonly tag?: readonly string[];
};

const HELP = `
These options also hold for the session's later prompts. The value "${NONE}" returns one to the worker's own setting. It does not work for
--cwd and --session; --no-wrap-up turns --wrap-up off.
Rules are replaced together: "--allow ${NONE}", "--deny ${NONE}" and "--ask ${NONE}" each remove all rules of all three kinds that are not
given in the same command. Tags are replaced together, too, and so are the variables of --tool-env and the folders of --add-dir.`;

export function addRunOptions(command: Command): Command {
  return command
    .option('--cwd <dir>', 'the workspace: file tools touch nothing outside it (default: the current folder)')
    .option('--add-dir <dir>', 'another folder that tools may read and change; repeatable', addValue)
    .option('--model <name>', 'the model to use: a whole name, or opus, sonnet, haiku or fable for the newest of these')
    .option(
      '--fallback-model <name>',
      'a model to switch to when the one before is overloaded, missing or refuses; repeatable',
      addValue,
    )
    .option('--max-turns <n>', 'end the run after this many turns')
    .option('--max-budget-usd <x>', 'end the run before it costs more than this, in US dollars')
    .option('--max-tokens <n>', 'end the run before it uses more tokens than this, of all kinds')
    .option('--token-budget <n>', 'spend this many output tokens before stopping on its own')
    .option('--task-budget <n>', 'tell the model how many tokens it has for the task')
    .option('--thinking <n>', 'let the model think with up to this many tokens in each reply')
    .option('--effort <level>', `how much the model puts into its replies: ${efforts.join(', ')}`)
    .option('--output-schema <file>', 'a JSON schema that the final answer must satisfy')
    .option('--timeout <time>', 'end the run after this time: 1500ms, 90s, 30m, 2h')
    .option('--wrap-up', 'before a limit ends the run, make one more call that sums up what is done')
    .option('--no-wrap-up', 'do not sum up, even if the worker is configured to')
    .option('--session <id>', 'the session’s id; if that session is open, the task becomes its next message')
    .option('--system-prompt <text>', 'instructions to use instead of the default system prompt')
    .option('--append-system-prompt <text>', 'instructions to add to the system prompt')
    .option('--instructions', 'tell the model the AGENTS.md files of the workspace (the default)')
    .option('--no-instructions', 'do not tell the model the AGENTS.md files of the workspace')
    .option('--memory', 'tell the model notes of earlier sessions in this workspace, and make one (the default)')
    .option('--no-memory', 'neither tell the model notes of earlier sessions nor make one')
    .option('--tools <names>', 'the tools the model is offered, such as "read,grep"; "" for no tool at all')
    .addOption(new Option('--permission-mode <mode>', `what runs without asking: ${permissionModes.join(', ')}`))
    .option(
      '--allow <rule>',
      'run matching calls without asking, such as "bash(npm test:*)", "write(src/**)"; repeatable',
      addValue,
    )
    .option('--deny <rule>', 'never run matching calls, in any mode; repeatable', addValue)
    .option(
      '--ask <rule>',
      'ask before matching calls, even if another rule allows them; not with mode bypass; repeatable',
      addValue,
    )
    .option(
      '--tool-env <name=value>',
      'a variable for shell commands and tools, kept with the session, so no secret; repeatable',
      addValue,
    )
    .option('--tag <name=value>', 'a label by which lists find the session, such as team=web; repeatable', addValue)
    .option('--approval-timeout <time>', 'deny a call after it waited this long for a decision')
    .addHelpText('after', HELP);
}

/** Returns only the given options, with null for one that is taken back. Throws UsageError. */
export function runOptions(flags: RunFlags, base: () => string): OptionChanges & { readonly session?: string } {
  const { session } = flags;
  const changes: OptionChanges = {
    ...present({
      cwd: flags.cwd === undefined ? undefined : parseWorkspace(flags.cwd, base()),
      wrapUp: flags.wrapUp,
      instructions: flags.instructions,
      memory: flags.memory,
    }),
    ...optionChange('model', flags.model, (text) => text),
    ...fallbacksOf(flags),
    ...optionChange('effort', flags.effort, (text) => text as Effort),
    ...optionChange('systemPrompt', flags.systemPrompt, (text) => text),
    ...optionChange('appendSystemPrompt', flags.appendSystemPrompt, (text) => text),
    ...optionChange('tools', flags.tools, namesIn),
    ...optionChange('permissionMode', flags.permissionMode, (text) => text as PermissionMode),
    ...rulesOf(flags),
    ...limitsOf(flags),
    ...toolEnvOf(flags.toolEnv),
    ...foldersOf(flags.addDir, base),
    ...tagsOf(flags.tag),
    ...optionChange('outputSchema', flags.outputSchema, (file) => readSchema(resolve(base(), file))),
  };
  const given = withChanges<Partial<RunOptions>>({}, changes);
  const problem =
    optionsProblem(given) ?? modelProblem(given) ?? (session === undefined ? undefined : sessionIdProblem(session));
  if (problem !== undefined) throw new UsageError(problem);
  return { ...changes, ...present({ session }) };
}

function optionChange<Key extends keyof OptionChanges>(
  key: Key,
  text: string | undefined,
  read: (text: string) => OptionChanges[Key],
): OptionChanges {
  if (text === undefined) return {};
  return { [key]: text === NONE ? null : read(text) };
}

/** An empty list names no tool. */
function namesIn(list: string): readonly string[] {
  return list.split(',').flatMap((name) => (name.trim() === '' ? [] : [name.trim()]));
}

/**
 * Reads all rules, which replace the earlier ones together; when none is left, `permissions` is
 * null.
 */
function rulesOf({ allow, deny, ask }: RunFlags): OptionChanges {
  const lists = Object.entries({ allow, deny, ask }).flatMap(([list, rules]) =>
    rules ? [[list, rules] as const] : [],
  );
  if (lists.length === 0) return {};
  const given = lists.filter(([list, rules]) => !isNone(`--${list}`, rules));
  return { permissions: given.length === 0 ? null : Object.fromEntries(given) };
}

export function limitsOf(flags: RunFlags): OptionChanges {
  const count = (flag: string) => (text: string) => parseNumber(flag, text);
  const time = (flag: string) => (text: string) => parseTime(flag, text);
  return {
    ...optionChange('maxTurns', flags.maxTurns, count('--max-turns')),
    ...optionChange('maxBudgetUsd', flags.maxBudgetUsd, count('--max-budget-usd')),
    ...optionChange('maxTokens', flags.maxTokens, count('--max-tokens')),
    ...optionChange('tokenBudget', flags.tokenBudget, count('--token-budget')),
    ...optionChange('taskBudget', flags.taskBudget, count('--task-budget')),
    ...optionChange('thinkingTokens', flags.thinking, count('--thinking')),
    ...optionChange('timeoutMs', flags.timeout, time('--timeout')),
    ...optionChange('approvalTimeoutMs', flags.approvalTimeout, time('--approval-timeout')),
  };
}

/** Returns the absolute path of a readable directory. Throws UsageError. */
export function parseWorkspace(dir: string, base: string): string {
  // An unset variable of the shell must not aim the agent at the current folder.
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

function parseNumber(flag: string, text: string): number {
  const value = /^-?\d+(\.\d+)?(e[+-]?\d+)?$/i.test(text.trim()) ? Number(text) : Number.NaN;
  if (Number.isNaN(value)) throw new UsageError(`${flag} ${JSON.stringify(text)} is not a number`);
  return value;
}

export function parseTime(flag: string, text: string): number {
  const value = parseDuration(text);
  if (value === null)
    throw new UsageError(`${flag} ${JSON.stringify(text)} is not a time: write 1500ms, 90s, 30m or 2h`);
  return value;
}
