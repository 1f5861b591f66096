// The configuration of a worker that a command brings up: --config, PERDURE_CONFIG, or the user's
// own file.
import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { LogLevel } from '../system/log.ts';
import type {
  LogFormat,
  MonitorFlags,
  OpenedServer,
  ChosenConfig,
  Staffing,
  DumpFlags,
  UnconfinedFlag,
  ForWorkers,
} from '../client/faces/types.ts';
import { METRICS_OPTION, UNCONFINED_OPTION, DUMP_OPTION, DUMP_READABLE_OPTION } from '../client/faces/flags.ts';
import { openDataFolder } from '../connection/data-folder.ts';
import type { Cli } from './cli.ts';

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
