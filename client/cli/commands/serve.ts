// perdure serve: the HTTP API, for programs, and the ops page beside it, on one port.
import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import { METRICS_OPTION, type MonitorFlags } from '../../connect/monitor.ts';
import { addPageOptions, type PortFlags } from '../../page/hosting/page-options.ts';
import { servePageUntilTold } from './page.ts';

export function serveCommand(program: Command, cli: Cli): void {
  const command = program
    .command('serve')
    .description('serve the HTTP API and the ops page, without a worker; runs until stopped')
    .option('--port <port>', 'of this machine (default: the one that the data folder remembers)', portOf)
    .option(...METRICS_OPTION);
  addPageOptions(command).action(async (flags: MonitorFlags & PortFlags) => {
    const status = await servePageUntilTold(cli, flags, ({ api, token, url }) =>
      [`api   ${api}`, ...(token === null ? [] : [`token ${token}`]), `page  ${url}`, ''].join('\n'),
    );
    cli.exit(status);
  });
}

function portOf(given: string): number {
  const port = Number(given);
  if (/^\d+$/.test(given) && port >= 1 && port <= 65_535) return port;
  throw new InvalidArgumentError('give a port, from 1 to 65535');
}
