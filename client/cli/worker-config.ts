// The configuration of a worker that a command brings up: --config, PERDURE_CONFIG, or the user's own file.
import { resolve } from 'node:path';
import type { PerdureConfig } from '../../worker/config.ts';
import { stayingWorkers } from '../connect/staying-workers.ts';
import type { Cli } from './cli.ts';

export type ConfigFlags = { readonly config?: string };

export const CONFIG_OPTION = [
  '--config <file>',
  'the configuration of the worker (default: $PERDURE_CONFIG, or the user’s own file)',
] as const;

/** `named`: the file of --config. `config`: undefined when there is none. */
export type WorkerConfig = { readonly named: string | undefined; readonly config: PerdureConfig | undefined };

/** Throws ConfigProblem. */
export async function workerConfig(cli: Pick<Cli, 'env' | 'cwd'>, file?: string): Promise<WorkerConfig> {
  const { loadConfig } = await import('../../worker/load-config.ts');
  const { path, config } = await loadConfig(file === undefined ? undefined : resolve(cli.cwd(), file), cli.env);
  return { named: file, config: path === null ? undefined : config };
}

/** A worker that stays has a configuration of its own: who names one has to know that it does not count. */
export function sayWhoseConfig(cli: Cli, file: string | undefined): void {
  if (file === undefined || (stayingWorkers(cli.env) ?? 0) === 0) return;
  cli.say(`a worker runs already, and its own configuration counts: ${file} is for one that this command brings up`);
}
