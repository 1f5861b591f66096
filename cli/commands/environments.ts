// perdure environments: the keys of workers of self-hosted environments (G19).
import type { Command } from 'commander';
import { openDataFolder } from '../../connection/data-folder.ts';
import { personAt } from '../arguments.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';

const HELP = `
The key is printed once: only its hash is stored. It lets a worker poll the environment, and act for the sessions whose items it has.`;

export function environmentsCommand(program: Command, cli: Cli): void {
  const group = program.command('environments').description('manage environments of the Managed Agents API');
  group
    .command('key')
    .description('make a key for the workers of a self-hosted environment, and print it')
    .argument('<environment>', 'its id, env_…')
    .option('--only', 'end all other keys of the environment')
    .addHelpText('after', HELP)
    .action(async (environment: string, { only = false }: { readonly only?: boolean }) => {
      cli.exit(await makeKey(cli, environment, only));
    });
}

async function makeKey(cli: Cli, id: string, only: boolean): Promise<number> {
  const [{ openStore }, { ManagedStore }, { Environments }, { makeEnvironmentKey }] = await Promise.all([
    import('../../client/faces/store-care.ts'),
    import('../../managed/log/stored.ts'),
    import('../../managed/environments.ts'),
    import('../../managed/work/credentials.ts'),
  ]);
  const folder = openDataFolder(cli.env);
  const { store } = openStore({ ...folder, dataDir: folder.root });
  const stored = new ManagedStore(store, Date.now);
  const environment = await new Environments(stored, Date.now).retrieve(id).catch(refuse);
  if (environment.config.type !== 'self_hosted')
    throw new UsageError(`environment ${id} is not self_hosted: it has no workers of its own`);
  const { by = 'the owner' } = personAt(cli);
  cli.print(`${await makeEnvironmentKey(stored, id, { by, only }).catch(refuse)}\n`);
  return STATUS.ok;
}

/** Reports a refusal of the API as a mistake in the command. */
function refuse(error: unknown): never {
  throw error instanceof Error && error.name === 'ManagedError' ? new UsageError(error.message) : error;
}
