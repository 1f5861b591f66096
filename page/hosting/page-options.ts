// The options of commands that serve the ops page, and the page that they describe: on this
// machine, or under a name for others.
import type { Command } from 'commander';
import { resolve } from 'node:path';
import { type Forwarder, forwardersOf, type HostFlags, type PageHost, parseForwarder } from './page-host.ts';
import type { OpenedServer } from '../../client/faces/types.ts';
import { present } from '../../client/faces/basics.ts';
import type { MountApp } from '../page-app.tsx';
import type { PagePorts } from '../ports.ts';
import type { ServedPage } from '../serve-page.ts';
import { type Env, refuseReadable } from '../../connection/data-folder.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import type { Person } from './people.ts';

export function addPageOptions(command: Command): Command {
  return command
    .option('--page-host <name>', 'open the page to other machines, under this name: name or name:port')
    .option('--page-cert <file>', 'the certificate of that name, in PEM')
    .option('--page-key <file>', 'its key, in PEM; it lies in the data folder, which commands of agents do not see')
    .option('--page-proxy <ip>', 'instead of both: the address of the one proxy that ends TLS')
    .option('--page-listen <address>', 'where the page listens then: host:port (default: the port of its name)')
    .option(
      '--page-tokens <file>',
      'JSON, in the data folder: name, role (look, decide, steer) and token of each who may use it',
    )
    .option(
      '--page-forwarded <name>',
      'a name under which a forwarder of ports shows the page of this machine, PORT for its port: PORT-me.example',
    );
}

export type PortFlags = HostFlags & { readonly port?: number };

/**
 * Where a page is served: under a name for other machines, or on this one for browsers with its
 * address and for `people`.
 */
export type PagePlace = {
  readonly host: PageHost | null;
  readonly people: readonly Person[];
  readonly forwarders: readonly Forwarder[];
  /** Port of this machine; absent: the one that the data folder remembers. */
  readonly port?: number;
};

/** Checks the options before anything starts. Throws SetupProblem. */
export async function placeOfPage(
  { cwd, env }: { readonly cwd: () => string; readonly env: Env },
  { port, ...flags }: PortFlags,
): Promise<PagePlace> {
  if (flags.pageHost !== undefined && port !== undefined)
    throw new SetupProblem('--port is of this machine alone: with --page-host the name has the port');
  if (flags.pageHost !== undefined && flags.pageForwarded !== undefined)
    throw new SetupProblem(
      '--page-forwarded is of a page of this machine: with --page-host its name is the one that counts',
    );
  const [{ readPageHost }, { readPeople }] = await Promise.all([import('./page-host.ts'), import('./people.ts')]);
  const file = (path: string | undefined): string | undefined => path && resolve(cwd(), path);
  const { pageCert, pageKey, pageTokens, pageHost, pageProxy, pageListen, pageForwarded } = flags;
  const named = pageForwarded === undefined ? [] : [parseForwarder(pageForwarded)];
  const files = { pageCert: file(pageCert), pageKey: file(pageKey), pageTokens: file(pageTokens) };
  for (const name of ['pageKey', 'pageTokens'] as const)
    if (files[name] !== undefined)
      refuseReadable(env, files[name], name === 'pageKey' ? '--page-key' : '--page-tokens');
  const options = Object.entries({ pageHost, pageProxy, pageListen, ...files }).filter(
    ([, value]) => value !== undefined,
  );
  const host = readPageHost(Object.fromEntries(options));
  const { pageTokens: tokens } = files;
  const people = host === null && tokens !== undefined ? readPeople(tokens) : [];
  return present({ host, people, forwarders: [...named, ...forwardersOf(env)], port });
}

export async function serveThePage(
  ports: PagePorts,
  { folder }: OpenedServer,
  { host, ...here }: PagePlace,
  mount?: MountApp,
): Promise<ServedPage> {
  const [{ servePage, serveHostedPage }, { openAddress }] = await Promise.all([
    import('../serve-page.ts'),
    import('../page-address.ts'),
  ]);
  return host === null
    ? servePage(ports, openAddress(folder.root), { ...here, ...present({ mount }) })
    : serveHostedPage(ports, host, mount);
}
