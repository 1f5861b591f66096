// perdure logs: prints the steps of a session as they were carried out: when, by which worker, how
// long, and why an attempt died. They come from the history on the server, not from the logs of
// workers.
import type { Command } from 'commander';
import { jsonLine } from '../../system/text.ts';
import { workerName } from '../../client/sessions/history/bars.ts';
import type { Step } from '../../client/sessions/history/steps.ts';
import { oneLine, type Paint } from '../../client/paint.ts';
import { formatMoment, shortTime } from '../../client/units.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';
import { rowsText } from '../../client/render/width.ts';

export function logsCommand(program: Command, cli: Cli): void {
  program
    .command('logs')
    .description('print the steps of a session: when, by which worker, how long, and why an attempt died')
    .argument('<id>', 'the session')
    .option('--json', 'print one JSON object per step')
    .action(async (id: string, { json = false }: { readonly json?: boolean }) => {
      cli.exit(await printSteps(cli, id, json));
    });
}

async function printSteps(cli: Cli, id: string, json: boolean): Promise<number> {
  return withSession(cli, id, async ({ temporal, sessions }, session) => {
    // Reports an unknown session before it reports that nothing happened in it.
    await sessions.describe(session);
    const { stepReader } = await import('../../client/sessions/history/steps.ts');
    const steps = await stepReader(temporal.client)(session, 0, null);
    for (const step of steps) {
      if (cli.unread.aborted) return STATUS.unread;
      cli.print(json ? `${jsonLine(step)}\n` : rowsText(cli.out.columns(), stepLine(cli.out, step)));
    }
    if (steps.length === 0) cli.say('the server has no step of it: nothing has begun, or its history is gone');
    return STATUS.ok;
  });
}

export function stepLine(paint: Paint, step: Step): string {
  const { name, run, iteration, askedAt, beganAt, endedAt, attempt, worker, failure } = step;
  const took = endedAt === null ? (beganAt === null ? 'waits' : 'runs') : shortTime(endedAt - (beganAt ?? askedAt));
  const place = `run ${run}${iteration === null ? '' : ` #${iteration}`}`;
  const waited = beganAt !== null && beganAt - askedAt >= 1_000 ? [`after ${shortTime(beganAt - askedAt)}`] : [];
  const again =
    attempt > 1 ? [paint.yellow(`attempt ${attempt}${failure === null ? '' : `: ${oneLine(failure, 300)}`}`)] : [];
  const by = worker === null ? [] : [paint.dim(`by ${workerName(worker)}`)];
  return [
    paint.dim(formatMoment(beganAt ?? askedAt)),
    place.padEnd(10),
    oneLine(name, 40).padEnd(14),
    took,
    ...waited,
    ...again,
    ...by,
  ].join('  ');
}
