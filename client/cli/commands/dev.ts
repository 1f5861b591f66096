// perdure dev: server, worker and page in one process that stays.
import type { Command } from 'commander';
import { isKeyless, SCRIPTED_NOTICE } from '../../../worker/keyless.ts';
import type { Cli } from '../cli.ts';
import { watchPage } from '../../connect/monitor.ts';
import type { HostFlags } from '../../page/hosting/page-host.ts';
import { addPageOptions, placeOfPage, serveThePage } from '../../page/hosting/page-options.ts';
import { addStayingOptions, type StayingFlags } from '../worker-config.ts';

export function devCommand(program: Command, cli: Cli): void {
  const command = addStayingOptions(
    program.command('dev').description('start a server, a worker and the ops page; runs until stopped'),
  );
  addPageOptions(command).action(async ({ config, ...flags }: StayingFlags & HostFlags) => {
    const { withStayingWorker } = await import('../with-staying-worker.ts');
    const { pagePorts } = await import('../../page/ports.ts');
    const place = await placeOfPage(cli, flags);
    const status = await withStayingWorker(cli, { role: 'dev', config, flags }, async ({ worker, opened, monitor }) => {
      const { target, folder } = opened;
      const page = await serveThePage(pagePorts(opened, cli.env), opened, place);
      watchPage(monitor, page);
      const rows = [
        ['page', page.url],
        ['server', `${target.address}, namespace ${target.namespace}`],
        ['worker', `pid ${process.pid}, task queue ${worker.taskQueue}, tools: ${worker.sandbox}`],
        ['data', folder.root],
      ];
      if (isKeyless(cli.env)) cli.say(SCRIPTED_NOTICE);
      cli.print(rows.map(([name = '', value]) => `${name.padEnd(7)} ${value}\n`).join(''));
      cli.say(`ready: ${cli.self} run "your task"`);
      return page.close;
    });
    cli.exit(status);
  });
}
