// perdure worker works until it is stopped, then lets work under way finish. perdure dev runs
// server, worker and page in one process and reports what happens to sessions.
import { type Command, InvalidArgumentError } from 'commander';
import { isKeyless, SCRIPTED_NOTICE } from '../../client/faces/processes.ts';
import { watchPage } from '../../client/faces/flags.ts';
import { rowsText } from '../../client/faces/basics.ts';
import type { Cli } from '../cli.ts';
import type { HostFlags } from '../../page/hosting/page-host.ts';
import { addPageOptions, type PagePlace, placeOfPage, serveThePage } from '../../page/hosting/page-options.ts';
import { addStayingOptions, type StayingFlags } from '../worker-config.ts';
import type { Staying } from '../with-staying-worker.ts';
import { reasonOf } from '../../system/text.ts';
import { STATUS, UsageError } from '../errors.ts';
import { listenForSignals } from '../signals.ts';

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
    import('../../client/faces/staying.ts'),
    import('../../client/faces/history.ts'),
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

type ModelFlags = { readonly script: string; readonly port: number };

export function scriptedModelCommand(program: Command, cli: Cli): void {
  program
    .command('scripted-model')
    .description('serve a scripted model; set ANTHROPIC_BASE_URL to the address it prints')
    .requiredOption('--script <file>', 'the script: see docs/scripted-model.md')
    .option('--port <n>', 'the port to listen on (default: a free one)', portNumber, 0)
    .action(async (flags: ModelFlags) => {
      cli.exit(await serve(cli, flags));
    });
}

async function serve(cli: Cli, { script: file, port }: ModelFlags): Promise<number> {
  const { loadScript, startScriptedModel } = await import('../../scripted-model/index.ts');
  const script = await loadScript(file).catch(refuseStart);
  const signals = listenForSignals(process, (status) => process.exit(status));
  const server = await startScriptedModel({ script, port, keep: 'none', log: cli.say }).catch(refuseStart);
  cli.print(`${server.url}\n`);
  await new Promise<void>((resolve) => {
    for (const signal of [signals.interrupt, signals.terminate]) signal.addEventListener('abort', () => resolve());
  });
  await server.close();
  signals.end();
  return STATUS.ok;
}

/** Words a file that cannot be read or used, and a port that is taken. */
function refuseStart(error: unknown): never {
  throw new UsageError(reasonOf(error));
}

function portNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value > 65_535) throw new InvalidArgumentError('give a port number');
  return value;
}
