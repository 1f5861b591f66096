// perdure worker: works until it is stopped, then lets work under way finish.
import type { Command } from 'commander';
import { isKeyless, SCRIPTED_NOTICE } from '../../worker/keyless.ts';
import type { Cli } from '../cli.ts';
import { addStayingOptions, type StayingFlags } from '../worker-config.ts';

export function workerCommand(program: Command, cli: Cli): void {
  addStayingOptions(program.command('worker').description('work on the sessions of a server; runs until stopped'))
    .option('--beside-newer', 'start also where sessions wait that only a newer perdure can go on with')
    .action(async ({ config, besideNewer = false, ...flags }: StayingFlags & { readonly besideNewer?: boolean }) => {
      const { withStayingWorker } = await import('../with-staying-worker.ts');
      const status = await withStayingWorker(
        cli,
        { role: 'worker', config, flags, besideNewer },
        ({ worker, opened }) => {
          if (isKeyless(cli.env)) cli.say(SCRIPTED_NOTICE);
          cli.say(`server ${opened.target.address}, data ${opened.folder.root}, tools: ${worker.sandbox}`);
          // The one line on standard output: programs wait for it.
          const build = worker.deployment === null ? '' : `, deployment ${worker.deployment}`;
          cli.print(`perdure worker ready: pid ${process.pid}, task queue ${worker.taskQueue}${build}\n`);
          return Promise.resolve(() => Promise.resolve());
        },
      );
      cli.exit(status);
    });
}
