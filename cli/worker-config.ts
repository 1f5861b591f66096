// The configuration of a worker that a command brings up: --config, PERDURE_CONFIG, or the user's
// own file.
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { LogLevel } from '../system/log.ts';
import type { LogFormat } from '../worker/log.ts';
import { METRICS_OPTION, type MonitorFlags } from '../client/runtime/monitor.ts';
import type { ForWorkers } from '../workflows/contract/task-queue.ts';
import { dataFolder, type Env } from '../connection/data-folder.ts';
import type { Opened } from '../client/runtime/open-server.ts';
import type { ChosenConfig, Staffing } from '../client/runtime/session-workers.ts';
import type { Cli } from './cli.ts';
import { DUMP_OPTION, DUMP_READABLE_OPTION, type DumpFlags } from '../client/runtime/dump-options.ts';
import { isKeyless } from '../worker/keyless.ts';
import { DEMO_TASK, isDemoTask } from '../scripted-model/demo/demo-task.ts';
import type { PerdureClient } from '../client/perdure-client.ts';
import { oneLine } from '../client/paint.ts';
import { isUnderWay } from '../client/sessions/info.ts';
import { UsageError } from './errors.ts';

export type ConfigFlags = { readonly config?: string };

export const CONFIG_OPTION = [
  '--config <file>',
  'the configuration of the session and its workers (default: $PERDURE_CONFIG, or the user’s own file)',
] as const;

export type StayingFlags = ConfigFlags & MonitorFlags & LogFlags & DumpFlags;

export type LogFlags = { readonly logLevel?: LogLevel; readonly logFormat?: LogFormat; readonly logFile?: string };

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
const formats: readonly LogFormat[] = ['json', 'text'];

/** For `worker` and `dev`. */
export function addStayingOptions(command: Command): Command {
  return command
    .option(...CONFIG_OPTION)
    .option(...METRICS_OPTION)
    .option(...DUMP_OPTION)
    .option(...DUMP_READABLE_OPTION)
    .addOption(new Option('--log-level <level>', 'the least that is worth a line (default: info)').choices(levels))
    .addOption(
      new Option('--log-format <format>', 'of a line (default: text on a terminal, else json)').choices(formats),
    )
    .option('--log-file <file>', 'append the log to a file (default: standard error)');
}

/** Throws ConfigProblem. */
export async function workerConfig(cli: Pick<Cli, 'env' | 'cwd'>, file?: string): Promise<ChosenConfig> {
  const { chooseConfig } = await import('../client/runtime/session-workers.ts');
  return chooseConfig(file === undefined ? undefined : resolve(cli.cwd(), file), cli.env);
}

/** The workers of a session that is begun with it, or is there. */
export async function workersOfNew(
  { env }: Pick<Cli, 'env'>,
  chosen: ChosenConfig,
  session: string,
): Promise<ForWorkers> {
  const { workersFor } = await import('../client/runtime/session-workers.ts');
  return workersFor(chosen, dataFolder(env), session);
}

/**
 * Whose work a session is that may be there. Throws ClientProblem where `--config` could not hold
 * for it.
 */
export async function placeConfig(
  { env }: Pick<Cli, 'env'>,
  opened: Opened,
  chosen: ChosenConfig,
  about: { readonly session: string; readonly mine: ForWorkers },
): Promise<Staffing> {
  const { staffFor } = await import('../client/runtime/session-workers.ts');
  return staffFor(opened, chosen, { ...about, env });
}

/**
 * A session that a person begins is remembered, unless they or their configuration say otherwise
 * (L80).
 */
export function ofNewSession({ config }: Pick<ChosenConfig, 'config'>): { readonly memory: boolean } {
  return { memory: config.memory ?? true };
}

// Without a key the scripted model answers, and it can do one task only: others are refused before
// they are begun, and those that a real model has begun are not ended by it.

/** Throws UsageError when a worker with this environment could not do the task. */
export function refuseWithoutKey(env: Env, task: string): void {
  if (!isKeyless(env) || isDemoTask(task)) return;
  const can = `without a key, the scripted model can do only this task: "${DEMO_TASK}"`;
  throw new UsageError(`no ANTHROPIC_API_KEY is set (nor ANTHROPIC_BASE_URL): set it for a real model; ${can}`);
}

/**
 * Throws UsageError when a worker with this environment would take up a run that needs a real
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
