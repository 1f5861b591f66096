// perdure dev: runs server, worker and page in one process and tells what happens to sessions,
// until stopped.
import type { Command } from 'commander';
import { isKeyless, SCRIPTED_NOTICE } from '../../worker/keyless.ts';
import type { Cli } from '../cli.ts';
import { watchPage } from '../../client/runtime/monitor.ts';
import type { HostFlags } from '../../page/hosting/page-host.ts';
import { addPageOptions, type PagePlace, placeOfPage, serveThePage } from '../../page/hosting/page-options.ts';
import { addStayingOptions, type StayingFlags } from '../worker-config.ts';
import type { Staying } from '../with-staying-worker.ts';
import { rowsText } from '../../client/render/width.ts';

type Flags = StayingFlags & HostFlags & { readonly ui?: boolean };

/** The page has a login, and Temporal's own UI has not. */
const UI_NOTICE =
  "Temporal's own UI asks nobody who they are: whoever reaches its port can end sessions, so leave --ui out when it is not needed";

export function devCommand(program: Command, cli: Cli): void {
  const command = addStayingOptions(
    program
      .command('dev')
      .description(
        'start a server, a worker and the ops page, and report what happens to sessions; runs until stopped',
      ),
  ).option('--ui', "with Temporal's own UI beside it, on this machine, for anyone there");
  addPageOptions(command).action(async ({ config, ...flags }: Flags) => {
    const { withStayingWorker } = await import('../with-staying-worker.ts');
    const place = await placeOfPage(cli, flags);
    const ready = (staying: Staying): Promise<() => Promise<void>> => startPage(cli, place, staying);
    cli.exit(await withStayingWorker(cli, { role: 'dev', config, flags, tells: true }, ready));
  });
}

/** Starts the page and the news, and returns the function that ends both. */
async function startPage(
  cli: Cli,
  place: PagePlace,
  { worker, opened, monitor }: Staying,
): Promise<() => Promise<void>> {
  const { pagePorts } = await import('../../page/ports.ts');
  const { target, folder, embedded } = opened;
  const since = Date.now();
  const page = await serveThePage(pagePorts(opened, cli.env, { hosted: place.host !== null }), opened, place);
  watchPage(monitor, page);
  const ui = embedded?.ui() ?? null;
  const rows = [
    ['page', page.entrance()],
    ['server', `${target.address}, namespace ${target.namespace}`],
    ...(ui === null ? [] : [['ui', ui]]),
    ['worker', `pid ${process.pid}, task queue ${worker.taskQueue}, tools: ${worker.sandbox}`],
    ...(worker.deployment === null ? [] : [['build', worker.deployment]]),
    ['data', folder.root],
  ];
  if (isKeyless(cli.env)) cli.say(SCRIPTED_NOTICE);
  if (ui !== null) cli.say(UI_NOTICE);
  cli.print(rows.map(([name = '', value]) => `${name.padEnd(7)} ${value}\n`).join(''));
  cli.say(`ready: ${cli.self} run "your task"`);
  const endNews = await tellNews(cli, opened, since);
  return async () => {
    await Promise.all([endNews(), page.close()]);
  };
}

async function tellNews(cli: Cli, { sessions }: Staying['opened'], since: number): Promise<() => Promise<void>> {
  const [{ watchSessions }, { newsLines }] = await Promise.all([
    import('../../client/runtime/watch-sessions.ts'),
    import('../../client/render/session-news.ts'),
  ]);
  return watchSessions({
    sessions,
    say: cli.say,
    tell: (before, now) => {
      const style = { paint: cli.out, self: cli.self, clock: new Date().toLocaleTimeString('en-GB') };
      const lines = newsLines({ before, now, since }, style);
      if (lines.length > 0) cli.print(rowsText(cli.out.columns(), lines.join('\n')));
    },
  });
}
