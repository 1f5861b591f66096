// The configuration of a worker that a command brings up: --config, PERDURE_CONFIG, or the user's own file.
import { resolve } from 'node:path';
import type { ForWorkers } from '../../worker/config/queue.ts';
import { dataFolder } from '../../worker/embedded/data-folder.ts';
import type { Opened } from '../connect/open-server.ts';
import type { ChosenConfig, Staffing } from '../connect/session-workers.ts';
import type { Cli } from './cli.ts';

export type ConfigFlags = { readonly config?: string };

export const CONFIG_OPTION = [
  '--config <file>',
  'the configuration of the session and its workers (default: $PERDURE_CONFIG, or the user’s own file)',
] as const;

/** Throws ConfigProblem. */
export async function workerConfig(cli: Pick<Cli, 'env' | 'cwd'>, file?: string): Promise<ChosenConfig> {
  const { chooseConfig } = await import('../connect/session-workers.ts');
  return chooseConfig(file === undefined ? undefined : resolve(cli.cwd(), file), cli.env);
}

/** Of a session that is begun with it, or is there. */
export async function workersOfNew(
  { env }: Pick<Cli, 'env'>,
  chosen: ChosenConfig,
  session: string,
): Promise<ForWorkers> {
  const { workersFor } = await import('../connect/session-workers.ts');
  return workersFor(chosen, dataFolder(env), session);
}

/** Whose work a session is that may be there. Throws ClientProblem where `--config` could not hold for it. */
export async function placed(
  { env }: Pick<Cli, 'env'>,
  opened: Opened,
  chosen: ChosenConfig,
  about: { readonly session: string; readonly mine: ForWorkers },
): Promise<Staffing> {
  const { staffFor } = await import('../connect/session-workers.ts');
  return staffFor(opened, chosen, { ...about, env });
}
