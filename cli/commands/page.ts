// perdure page serves the ops page alone, when workers run elsewhere or not yet. perdure open opens
// it at a session.
import type { Command } from 'commander';
import { personAt } from '../arguments.ts';
import type { Cli } from '../cli.ts';
import type { Monitor, MonitorFlags, OpenedServer } from '../../client/faces/types.ts';
import { METRICS_OPTION, openMonitor, watchFleet, watchPage } from '../../client/faces/flags.ts';
import type { HostFlags } from '../../page/hosting/page-host.ts';
import type { MountApp } from '../../page/page-app.tsx';
import type { PagePorts } from '../../page/ports.ts';
import type { ServedPage } from '../../page/serve-page.ts';
import {
  addPageOptions,
  type PagePlace,
  placeOfPage,
  type PortFlags,
  serveThePage,
} from '../../page/hosting/page-options.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { STATUS, UsageError } from '../errors.ts';
import { keepHeapSmall } from '../../system/keep-heap-small.ts';
import { listenForSignals, waitForAbort, openUnlessTold } from '../signals.ts';
import { sayProgress } from '../within-workplace.ts';
import { withSession } from '../with-server.ts';

export function pageCommand(program: Command, cli: Cli): void {
  const command = program
    .command('page')
    .description('serve the ops page, without a worker; runs until stopped')
    .option('--address', 'print a new address of the page that is served from this data folder, and leave it at that')
    .option(...METRICS_OPTION);
  addPageOptions(command).action(async ({ address, ...flags }: Flags) => {
    if (address === true) return cli.exit(await printAddress(cli, flags));
    cli.exit(await servePageUntilTold(cli, flags, ({ entrance }) => `page ${entrance()}\n`));
  });
}

type Flags = MonitorFlags & HostFlags & { readonly address?: boolean };

async function printAddress(cli: Cli, others: object): Promise<number> {
  if (Object.keys(others).length > 0) throw new UsageError('--address cannot be combined with other options');
  const { entranceOf, findServedPage: servedNow } = await import('../../page/page-address.ts');
  const { root } = openDataFolder(cli.env);
  const address = await servedNow(root);
  if (address === null)
    throw new SetupProblem(`no page is served from the data folder ${root}: \`${cli.self} page\` serves it`);
  cli.print(`page ${entranceOf(address)}\n`);
  return STATUS.ok;
}

/** `linesOf` returns the lines to print when the page is served. */
export async function servePageUntilTold(
  cli: Cli,
  flags: MonitorFlags & PortFlags,
  linesOf: (served: ServedPage) => string,
  mountOn?: MountOn,
): Promise<number> {
  // A page of a long session leaves much garbage (O13).
  keepHeapSmall(20);
  const place = await placeOfPage(cli, flags);
  const monitor = await openMonitor(cli, flags);
  try {
    return await servePage(cli, { monitor, place, linesOf, ...(mountOn && { mountOn }) });
  } finally {
    await monitor?.close();
  }
}

type Serving = {
  readonly monitor: Monitor | null;
  readonly place: PagePlace;
  readonly linesOf: (served: ServedPage) => string;
  readonly mountOn?: MountOn;
};

/** Makes another app for the page's port. */
export type MountOn = (opened: OpenedServer, ports: PagePorts) => MountApp;

async function servePage(cli: Cli, { monitor, place, linesOf, mountOn }: Serving): Promise<number> {
  const signals = listenForSignals(process, (status) => process.exit(status));
  const [{ openWholeServer }, { createSupervision: supervision, serverHealth, superviseServer }, { pagePorts }] =
    await Promise.all([
      import('../../client/faces/servers.ts'),
      import('../../client/faces/staying.ts'),
      import('../../page/ports.ts'),
    ]);
  const opened = await openUnlessTold(
    signals,
    openWholeServer({ env: cli.env, role: 'command', say: sayProgress(cli), ...personAt(cli) }),
  );
  if (opened === null) return STATUS.ok;
  const endSupervision = opened.embedded && superviseServer(opened.embedded, supervision(cli.say));
  try {
    const ports = pagePorts(opened, cli.env, { hosted: place.host !== null });
    const served = await serveThePage(ports, opened, place, mountOn?.(opened, ports));
    // Counts sessions once, for the page and for /metrics.
    const sessions = { ...opened.sessions, counts: ports.counts };
    watchFleet(monitor, () => serverHealth(opened.temporal.client), { sessions, say: cli.say });
    watchPage(monitor, served);
    cli.print(linesOf(served));
    await waitForAbort(AbortSignal.any([signals.interrupt, signals.terminate]));
    await served.close();
    return STATUS.ok;
  } finally {
    await endSupervision?.();
    await opened.close();
    signals.end();
  }
}

export function openCommand(program: Command, cli: Cli): void {
  program
    .command('open')
    .description('open a session on the ops page, or print the address where there is no browser')
    .argument('<id>', 'the session')
    .action(async (id: string) => {
      const status = await withSession(cli, id, async ({ sessions }, session) => {
        await sessions.describe(session);
        const { openPageAt } = await import('../open-page.ts');
        await openPageAt(cli, session);
        return STATUS.ok;
      });
      cli.exit(status);
    });
}
