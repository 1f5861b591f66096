// The configuration of a worker that a command brings up: --config, PERDURE_CONFIG, or the user's
// own file.
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import {
  DUMP_OPTION,
  DUMP_READABLE_OPTION,
  findUnconfinedQuestion,
  METRICS_OPTION,
  UNCONFINED_OPTION,
} from '../client/faces/flags.ts';
import { isUnderWay } from '../client/faces/lists.ts';
import { isKeyless } from '../client/faces/processes.ts';
import { builtinNames, mistakenRule } from '../client/faces/rules.ts';
import { oneLine } from '../client/faces/start.ts';
import type {
  ChosenConfig,
  DumpFlags,
  ForWorkers,
  LogFormat,
  MonitorFlags,
  OpenedServer,
  OptionChanges,
  PerdureClient,
  PerdureConfig,
  Staffing,
  UnconfinedFlag,
} from '../client/faces/types.ts';
import { WEB_SEARCH } from '../client/faces/words.ts';
import { type Env, openDataFolder } from '../connection/data-folder.ts';
import { isDemoTask } from '../scripted-model/demo/demo-task.ts';
import type { LogLevel } from '../system/log.ts';
import type { Cli } from './cli.ts';
import { UsageError } from './errors.ts';

export type ConfigFlags = { readonly config?: string };

export const CONFIG_OPTION = [
  '--config <file>',
  'the configuration of the session and its workers (default: $PERDURE_CONFIG, or the user’s own file)',
] as const;

export type StayingFlags = ConfigFlags & MonitorFlags & LogFlags & DumpFlags & UnconfinedFlag;

export type LogFlags = { readonly logLevel?: LogLevel; readonly logFormat?: LogFormat; readonly logFile?: string };

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
const formats: readonly LogFormat[] = ['json', 'text'];

/** Adds the options of `worker` and `dev`. */
export function addStayingOptions(command: Command): Command {
  return command
    .option(...CONFIG_OPTION)
    .option(...UNCONFINED_OPTION)
    .option(...METRICS_OPTION)
    .option(...DUMP_OPTION)
    .option(...DUMP_READABLE_OPTION)
    .addOption(new Option('--log-level <level>', 'the lowest level to log (default: info)').choices(levels))
    .addOption(
      new Option('--log-format <format>', 'of a line (default: text on a terminal, else json)').choices(formats),
    )
    .option('--log-file <file>', 'append the log to a file (default: standard error)');
}

/** Throws ConfigProblem. */
export async function workerConfig(cli: Pick<Cli, 'env' | 'cwd'>, file?: string): Promise<ChosenConfig> {
  const { chooseConfig } = await import('../client/faces/workers.ts');
  return chooseConfig(file === undefined ? undefined : resolve(cli.cwd(), file), cli.env);
}

/** Returns the workers of a session that begins with the configuration. */
export async function workersOfNew(
  { env }: Pick<Cli, 'env'>,
  chosen: ChosenConfig,
  session: string,
): Promise<ForWorkers> {
  const { workersFor } = await import('../client/faces/workers.ts');
  return workersFor(chosen, openDataFolder(env), session);
}

/**
 * Finds the workers of a session that may exist. Throws ClientProblem when `--config` could not
 * hold for it.
 */
export async function placeConfig(
  { env }: Pick<Cli, 'env'>,
  opened: OpenedServer,
  chosen: ChosenConfig,
  about: { readonly session: string; readonly mine: ForWorkers },
): Promise<Staffing> {
  const { staffFor } = await import('../client/faces/workers.ts');
  return staffFor(opened, chosen, { ...about, env });
}

/**
 * Returns options of a new session: it is remembered unless the person or the configuration says
 * otherwise (L80).
 */
export function ofNewSession({ config }: Pick<ChosenConfig, 'config'>): { readonly memory: boolean } {
  return { memory: config.memory ?? true };
}

// Asks at a terminal, once, whether commands of agents may run where nothing can confine them.
/** Without a terminal, and without an answer, commands stay refused and nothing is kept. */
export async function askUnconfined(
  { openInput, env, say }: Pick<Cli, 'openInput' | 'env' | 'say'>,
  config: PerdureConfig,
  platform?: NodeJS.Platform,
): Promise<void> {
  if (openInput === null) return;
  const question = await findUnconfinedQuestion(config, env, platform);
  if (question === null) return;
  const left = new AbortController();
  const leave = (): void => left.abort();
  const input = openInput({ submit: () => undefined, interrupt: leave, leave });
  try {
    const line = await input.ask(question.text, left.signal);
    if (line !== null) say(question.keep(/^y(?:es)?$/i.test(line.trim())));
  } finally {
    input.close();
  }
}

// Refuses work before anything starts: what the scripted model cannot do, and a permission rule
// that must have meant another tool. The scripted model answers when no key is set and knows one
// task only: other tasks are refused, and it does not end what a real model has begun.
export const NO_KEY =
  'No API key found. Set ANTHROPIC_API_KEY to use Claude, or try the built-in demo: `perdure run --demo`.';

/** Throws UsageError when a worker with this environment could not do the task. */
export function refuseWithoutKey(env: Env, task: string): void {
  if (!isKeyless(env) || isDemoTask(task)) return;
  throw new UsageError(NO_KEY);
}

/**
 * Throws UsageError when a worker with this environment would continue a run that needs a real
 * model.
 */
export async function refuseToSpoil(env: Env, sessions: Pick<PerdureClient, 'list'>): Promise<void> {
  if (!isKeyless(env)) return;
  for await (const info of sessions.list({ open: true })) {
    const { session, title } = info;
    if (!isUnderWay(info) || isDemoTask(title)) continue;
    const what = `session ${session} ("${oneLine(title, 60)}") is unfinished and needs a real model`;
    throw new UsageError(`${what}: set ANTHROPIC_API_KEY, cancel it, or set PERDURE_DATA to another folder`);
  }
}

/**
 * Throws UsageError for a rule, given or configured, whose tool is nearly called so. Tools that a
 * function of the configuration brings are known to the worker alone, which then judges.
 */
export function refuseMistakenRules({ permissions }: OptionChanges, config: PerdureConfig): void {
  const { tools = [] } = config;
  if (typeof tools === 'function') return;
  const names = [...builtinNames, WEB_SEARCH, ...tools.map(({ name }) => name)];
  const problem = mistakenRule(permissions ?? {}, names) ?? mistakenRule(config.permissions ?? {}, names);
  if (problem !== undefined) throw new UsageError(problem);
}
