// perdure page: the ops page alone, where workers run elsewhere or not at all.
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { listenForSignals } from '../signals.ts';
import { waitForAbort, openUnlessTold } from '../with-server.ts';

export function pageCommand(program: Command, cli: Cli): void {
  program
    .command('page')
    .description('serve the ops page, without a worker; runs until stopped')
    .action(async () => {
      cli.exit(await page(cli));
    });
}

async function page(cli: Cli): Promise<number> {
  const signals = listenForSignals(process, (status) => process.exit(status));
  const [{ openServer }, { supervision }, { superviseServer }, { servePage }, { pagePorts }, { keptAddress }] =
    await Promise.all([
      import('../../connect/open-server.ts'),
      import('../../connect/workplace.ts'),
      import('../../../worker/embedded/supervise-server.ts'),
      import('../../page/serve-page.ts'),
      import('../../page/ports.ts'),
      import('../../page/page-address.ts'),
    ]);
  const opened = await openUnlessTold(signals, openServer({ env: cli.env, role: 'command', say: cli.say }));
  if (opened === null) return STATUS.ok;
  const endSupervision = opened.embedded && superviseServer(opened.embedded, supervision(cli.say));
  try {
    const served = await servePage(pagePorts(opened, cli.env), keptAddress(opened.folder.root));
    cli.print(`page ${served.url}\n`);
    await waitForAbort(AbortSignal.any([signals.interrupt, signals.terminate]));
    await served.close();
    return STATUS.ok;
  } finally {
    await endSupervision?.();
    await opened.close();
    signals.end();
  }
}
