// perdure serve: serves the HTTP API for programs and the ops page on one port.
import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import type { MonitorFlags } from '../../client/face-types.ts';
import { METRICS_OPTION } from '../../client/runtime/monitor.ts';
import { addPageOptions, type PortFlags } from '../../page/hosting/page-options.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { STATUS, UsageError } from '../errors.ts';
import { servePageUntilTold } from './page.ts';

export function serveCommand(program: Command, cli: Cli): void {
  const command = program
    .command('serve')
    .description('serve the HTTP API and the ops page, without a worker; runs until stopped')
    .option('--port <port>', 'of this machine (default: the one that the data folder remembers)', portOf)
    .option('--token', "print the token of this data folder's API, and leave it at that")
    .option(...METRICS_OPTION);
  addPageOptions(command).action(async ({ token, ...flags }: Flags) => {
    if (token === true) return cli.exit(await printToken(cli, flags));
    const status = await servePageUntilTold(cli, flags, ({ api, ownToken, entrance }) => {
      // Output may be kept in a log that commands of an agent can read, so it does not contain the
      // token.
      if (ownToken) cli.say(`the token of the API: \`${cli.self} serve --token\` prints it`);
      return `api  ${api}\npage ${entrance()}\n`;
    });
    cli.exit(status);
  });
}

type Flags = MonitorFlags & PortFlags & { readonly token?: boolean };

async function printToken(cli: Cli, others: object): Promise<number> {
  if (Object.keys(others).length > 0) throw new UsageError('--token cannot be combined with other options');
  const { readApiToken } = await import('../../page/page-address.ts');
  cli.print(`${readApiToken(openDataFolder(cli.env).root)}\n`);
  return STATUS.ok;
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('give a port, from 1 to 65535');
}
