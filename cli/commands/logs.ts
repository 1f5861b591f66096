// perdure logs: prints the steps of a session as they were carried out: when, by which worker, how
// long, and why an attempt died. They come from the history on the server, not from the logs of
// workers.
import type { Command } from 'commander';
import { jsonLine } from '../../system/text.ts';
import { workerName } from '../../client/sessions/history/bars.ts';
import type { Step } from '../../client/sessions/history/steps.ts';
import { oneLine, type Paint } from '../../client/paint.ts';
import { formatMoment, shortTime } from '../../client/units.ts';
import type { PerdureClient } from '../../client/perdure-client.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { pause } from '../../system/async.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';
import { rowsText } from '../../client/render/width.ts';

export function logsCommand(program: Command, cli: Cli): void {
  program
    .command('logs')
    .description('print the steps of a session: when, by which worker, how long, and why an attempt died')
    .argument('<id>', 'the session')
    .option('-f, --follow', 'go on with the steps to come, until Ctrl-C')
    .option('--json', 'print one JSON object per step')
    .action(async (id: string, flags: Flags) => {
      cli.exit(await printSteps(cli, id, flags));
    });
}

type Flags = { readonly json?: boolean; readonly follow?: boolean };

const LOOK_MS = 1_000;

async function printSteps(cli: Cli, id: string, { json = false, follow = false }: Flags): Promise<number> {
  return withSession(cli, id, async ({ temporal, sessions }, session) => {
    // Reports an unknown session before it reports that nothing happened in it.
    await sessions.describe(session);
    const { stepReader } = await import('../../client/sessions/history/steps.ts');
    const read = stepReader(temporal.client);
    const printed = new Set<string>();
    const oneOf = (step: Step): string => `${step.run}.${step.name}.${step.askedAt}`;
    for (;;) {
      const steps = await read(session, 0, null);
      const names = await readToolNames(sessions, session, steps);
      for (const step of steps) {
        if (cli.unread.aborted) return STATUS.unread;
        // While it is followed, a step is printed when it has ended.
        if (printed.has(oneOf(step)) || (follow && step.endedAt === null)) continue;
        printed.add(oneOf(step));
        const line = stepLine(cli.out, step, names(step));
        cli.print(json ? `${jsonLine(step)}\n` : rowsText(cli.out.columns(), line));
      }
      if (steps.length === 0 && !follow)
        cli.say('the server has no step of it: nothing has begun, or its history is gone');
      if (!follow) break;
      await pause(LOOK_MS, cli.unread);
      if (cli.unread.aborted) return STATUS.unread;
    }
    return STATUS.ok;
  });
}

/** Names of steps in words; those that call the model or a tool are named by it. */
const WORDS: Readonly<Record<string, string>> = {
  openRun: 'opens the run',
  callModel: 'model',
  runTool: 'tool',
  compact: 'compaction',
  collapse: 'short forms',
  prepareCompaction: 'compaction',
  commit: 'stores',
  runStopHooks: 'stop hooks',
  afterStop: 'ends the run',
  findReply: 'looks for the reply',
  endWorktree: 'ends a work tree',
};

/** Finds the model of a step that called one, and the tool of a step that ran a call. */
async function readToolNames(
  sessions: Pick<PerdureClient, 'transcript'>,
  session: SessionId,
  steps: readonly Step[],
): Promise<(step: Step) => string | null> {
  const replies = new Map<string, { readonly model: string; readonly tools: readonly string[] }>();
  let run = 0;
  try {
    for await (const { entry } of sessions.transcript(session)) {
      if (entry.kind === 'run_started') run = entry.run;
      if (entry.kind !== 'reply') continue;
      const tools = entry.message.content.flatMap((block) => (block.type === 'tool_use' ? [block.name] : []));
      replies.set(`${run}.${entry.iteration}`, { model: entry.message.model, tools });
    }
  } catch (error) {
    // A transcript that cannot be read leaves the steps their general names.
    if (!(error instanceof Error) || !['StoreError', 'ClientProblem'].includes(error.name)) throw error;
  }
  const named = new Map<Step, string>();
  for (const step of steps) {
    const place = `${step.run}.${step.iteration}`;
    const reply = replies.get(place);
    if (step.name === 'callModel' && reply) named.set(step, reply.model);
    if (step.name !== 'runTool' || !reply) continue;
    const only = new Set(reply.tools).size === 1 ? reply.tools[0] : undefined;
    const tool = only ?? (reply.tools.length > 0 ? `one of ${[...new Set(reply.tools)].join(', ')}` : undefined);
    if (tool !== undefined) named.set(step, tool);
  }
  return (step) => named.get(step) ?? null;
}

/** `named` is the model or the tool of the step, where it is known. */
export function stepLine(paint: Paint, step: Step, named: string | null = null): string {
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
    oneLine(named ?? WORDS[name] ?? name, 40).padEnd(18),
    took,
    ...waited,
    ...again,
    ...by,
  ].join('  ');
}
