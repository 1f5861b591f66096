// perdure serve: serves the HTTP API for programs, the ops page, and the Managed Agents API where a
// folder for its sessions is named, on one port.
import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import type { managedPorts } from '../../managed/ports.ts';
import type { MonitorFlags } from '../../client/faces/types.ts';
import { present } from '../../client/faces/basics.ts';
import { METRICS_OPTION } from '../../client/faces/flags.ts';
import { addPageOptions, type PortFlags } from '../../page/hosting/page-options.ts';
import type { ServedPage } from '../../page/serve-page.ts';
import { dataRootOf, openDataFolder } from '../../connection/data-folder.ts';
import { isInside } from '../../system/process/places.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf } from '../../system/text.ts';
import { STATUS, UsageError } from '../errors.ts';
import { parseTime } from '../run-options.ts';
import { type MountOn, servePageUntilTold } from './page.ts';

export function serveCommand(program: Command, cli: Cli): void {
  const command = program
    .command('serve')
    .description('serve the HTTP API and the ops page, without a worker; runs until stopped')
    .option('--port <port>', 'of this machine (default: the one that the data folder remembers)', portOf)
    .option('--token', "print the token of this data folder's API, and leave it at that")
    .option(
      '--managed <dir>',
      'serve the Managed Agents API as well: each of its sessions works in a folder of its own below this one',
    )
    .option(
      '--managed-lease <time>',
      'with --managed: how long a worker of a self-hosted environment may be silent, from 10s to 5m (default: 1m)',
    )
    .option(
      '--managed-url <url>',
      'with --managed: the address at which those workers reach this server (default: the one that they poll)',
    )
    .option(
      '--managed-idle-lease <time>',
      'with --managed: how long those workers may have no open call before they are asked to stop (default: any time)',
    )
    .option(
      '--managed-worker-tools <names>',
      'with --managed: custom tools that those workers carry out, and no app, divided by commas',
    )
    .option(
      '--managed-private-hosts <hosts>',
      'with --managed: hosts of MCP servers whose addresses may be private when credentials are validated, divided by commas',
    )
    .option(...METRICS_OPTION);
  addPageOptions(command).action(async ({ token, managed, ...all }: Flags) => {
    const { managedLease, managedUrl, managedIdleLease, managedWorkerTools, managedPrivateHosts, ...flags } = all;
    const managedFlags = present({
      managedLease,
      managedUrl,
      managedIdleLease,
      managedWorkerTools,
      managedPrivateHosts,
    });
    if (token === true) return cli.exit(await printToken(cli, present({ ...flags, managed, ...managedFlags })));
    const mountOn = await readManaged(cli, managed, managedFlags);
    const linesOf = ({ api, ownToken, entrance }: ServedPage): string => {
      // Output may be kept in a log that commands of an agent can read, so it does not contain the
      // token.
      if (ownToken) cli.say(`the token of the API: \`${cli.self} serve --token\` prints it`);
      const base = mountOn ? `managed agents ${new URL(api).origin}\n` : '';
      return `api  ${api}\n${base}page ${entrance()}\n`;
    };
    const status = await servePageUntilTold(cli, flags, linesOf, mountOn);
    cli.exit(status);
  });
}

type ManagedFlags = { readonly [Name in keyof typeof NAMES]?: string };
type Flags = MonitorFlags & PortFlags & ManagedFlags & { readonly token?: boolean; readonly managed?: string };

const NAMES = {
  managedLease: '--managed-lease',
  managedUrl: '--managed-url',
  managedIdleLease: '--managed-idle-lease',
  managedWorkerTools: '--managed-worker-tools',
  managedPrivateHosts: '--managed-private-hosts',
} as const;

/** Absent without --managed, which the other flags need. */
async function readManaged(cli: Cli, managed: string | undefined, flags: ManagedFlags): Promise<MountOn | undefined> {
  const [first] = Object.keys(flags) as (keyof ManagedFlags)[];
  if (managed === undefined && first) throw new UsageError(`${NAMES[first]} belongs to --managed`);
  const options = {
    leaseMs: leaseOf(flags.managedLease),
    publicUrl: urlOf(flags.managedUrl),
    idleLeaseMs: idleLeaseOf(flags.managedIdleLease),
    workerTools: listOf(flags.managedWorkerTools),
    privateHosts: listOf(flags.managedPrivateHosts),
  };
  return managed === undefined ? undefined : mountManaged(cli, resolve(cli.cwd(), managed), options);
}

const listOf = (text = ''): readonly string[] => text.split(',').flatMap((name) => name.trim() || []);

const [LEAST_LEASE_MS, LEASE_MS, MOST_LEASE_MS] = [10_000, 60_000, 300_000];

function leaseOf(text: string | undefined): number {
  if (text === undefined) return LEASE_MS;
  const ms = parseTime('--managed-lease', text);
  if (ms >= LEAST_LEASE_MS && ms <= MOST_LEASE_MS) return ms;
  throw new UsageError(`--managed-lease ${text}: give from 10s to 5m`);
}

function idleLeaseOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseTime(NAMES.managedIdleLease, text);
  if (ms >= LEAST_LEASE_MS) return ms;
  throw new UsageError(`--managed-idle-lease ${text}: give at least 10s`);
}

/** A path of a proxy may be part of the address; the API's own paths follow it. */
function urlOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  const isPlain = url?.search === '' && url.hash === '' && url.username === '' && url.password === '';
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw new UsageError(`--managed-url ${JSON.stringify(text)}: give an address such as https://agents.example`);
  return url.href.endsWith('/') ? url.href.slice(0, -1) : url.href;
}

type ManagedOptions = Omit<Parameters<typeof managedPorts>[2], 'root' | 'env' | 'log'>;

/** `root` is the absolute path of the folder of all sessions' folders. */
async function mountManaged({ env, say }: Cli, root: string, options: ManagedOptions): Promise<MountOn> {
  const data = dataRootOf(env);
  if (isInside(data, root) || isInside(root, data))
    throw new SetupProblem(`--managed names ${root}, and Perdure's data folder is ${data}: keep them apart`);
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new SetupProblem(`--managed names ${root}, which cannot be used (${reasonOf(error)})`, { cause: error });
  }
  const [{ managedApp }, { managedPorts }] = await Promise.all([
    import('../../managed/app.ts'),
    import('../../managed/ports.ts'),
  ]);
  return (opened, ports) => (access) => {
    const app = managedApp(managedPorts(opened, ports, { root, env, log: say, ...options }), access);
    app.keepFiring();
    return app;
  };
}

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
