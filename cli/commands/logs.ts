// perdure logs: prints the steps of a session as they were carried out: when, by which worker, how
// long, and why an attempt died. They come from the history on the server, not from the logs of
// workers.
import type { Command } from 'commander';
import { jsonLine } from '../../system/text.ts';
import { workerName } from '../../client/faces/turns.ts';
import type { Step, Paint, PerdureClient, SessionDescription, PendingApproval } from '../../client/faces/types.ts';
import { formatMoment, shortTime, rowsText } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { endWord, callWhat } from '../../client/faces/words.ts';
import { pause } from '../../system/async.ts';
import type { Cli } from '../cli.ts';
import { STATUS } from '../errors.ts';
import { withSession } from '../with-server.ts';

export function logsCommand(program: Command, cli: Cli): void {
  program
    .command('logs')
    .description('print the steps of a session: when, by which worker, how long, and why an attempt died')
    .argument('<id>', 'the session')
    .option('-f, --follow', 'keep printing new steps until Ctrl-C')
    .option('--json', 'print one JSON object per step, with its calls')
    .action(async (id: string, flags: Flags) => {
      cli.exit(await printSteps(cli, id, flags));
    });
}

type Flags = { readonly json?: boolean; readonly follow?: boolean };

const LOOK_MS = 1_000;

async function printSteps(cli: Cli, id: string, { json = false, follow = false }: Flags): Promise<number> {
  return withSession(cli, id, async ({ temporal, sessions }, session) => {
    // Reports an unknown session before it reports that nothing happened in it.
    let description = await sessions.describe(session);
    const { stepReader } = await import('../../client/faces/history.ts');
    const read = stepReader(temporal.client);
    const printed = new Set<string>();
    const oneOf = (step: Step): string => `${step.run}.${step.name}.${step.askedAt}`;
    for (;;) {
      const steps = await read(session, 0, null);
      const { named, callsOf, hasAsked } = await readTranscript(sessions, description, steps);
      for (const step of steps) {
        if (cli.unread.aborted) return STATUS.unread;
        // While it is followed, a step is printed when it has ended.
        if (printed.has(oneOf(step)) || (follow && step.endedAt === null)) continue;
        printed.add(oneOf(step));
        const calls = callsOf(step).filter((call) => !printed.has(call.id));
        for (const call of calls) printed.add(call.id);
        const lines = [
          stepLine(cli.out, step, named(step), hasAsked(step)),
          ...calls.map((call) => formatLoggedCall(cli.out, call)),
        ];
        if (json) cli.print(`${jsonLine({ ...step, calls })}\n`);
        else for (const line of lines) cli.print(rowsText(cli.out.columns(), line));
      }
      if (steps.length === 0 && !follow) cli.say('no steps found: nothing has started yet, or the history is gone');
      if (!follow) break;
      await pause(LOOK_MS, cli.unread);
      if (cli.unread.aborted) return STATUS.unread;
      description = await sessions.describe(session);
    }
    return STATUS.ok;
  });
}

/** Names of steps in words; those that call the model or a tool are named by it. */
const WORDS: Readonly<Record<string, string>> = {
  openRun: 'open the run',
  callModel: 'model',
  runTool: 'tool',
  compact: 'compaction',
  collapse: 'short forms',
  prepareCompaction: 'compaction',
  commit: 'store',
  runStopHooks: 'stop hooks',
  gradeGoal: 'grading',
  afterStop: 'end the run',
  findReply: 'find the reply',
  endWorktree: 'end a work tree',
};

/** A call of a reply, wherever it ran: many run in the activity that called the model. */
type LoggedCall = {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
  /** Milliseconds that it took, or that it has waited. */
  readonly durationMs: number;
  readonly outcome: string;
  /** It waits for a person. */
  readonly waits?: true;
};

type ToldByTranscript = {
  /** The model of a step that called one, and the tool of a step that ran a call. */
  readonly named: (step: Step) => string | null;
  /** The calls of the step's iteration that have an outcome, or wait for a person. */
  readonly callsOf: (step: Step) => readonly LoggedCall[];
  /** Tells whether all that the step did was to find that a person must be asked. */
  readonly hasAsked: (step: Step) => boolean;
};

type Reply = { readonly model: string; readonly tools: readonly string[] };

type Waiting = Pick<SessionDescription, 'session' | 'approvals'>;

/** The replies and calls of the transcript, by run and iteration. */
type ReadCalls = { readonly replies: Map<string, Reply>; readonly calls: Map<string, LoggedCall[]> };

async function readCalls(
  sessions: Pick<PerdureClient, 'transcript'>,
  { session, approvals = [] }: Waiting,
): Promise<ReadCalls> {
  const read: ReadCalls = { replies: new Map(), calls: new Map() };
  const inputs = new Map<string, unknown>();
  let [run, place] = [0, ''];
  let last: readonly unknown[] = [];
  for await (const { entry } of sessions.transcript(session)) {
    if (entry.kind === 'run_started') run = entry.run;
    if (entry.kind === 'outcomes') {
      const calls = entry.outcomes.map(({ toolUseId, log, isError }): LoggedCall => {
        const outcome = endWord(log) ?? (isError ? 'failed' : 'ok');
        const call = { tool: log.name, input: inputs.get(toolUseId), durationMs: log.duration, outcome };
        return { id: `${place}.${toolUseId}`, ...call };
      });
      read.calls.set(place, [...(read.calls.get(place) ?? []), ...calls]);
    }
    if (entry.kind !== 'reply') continue;
    place = `${run}.${entry.iteration}`;
    last = entry.message.content.map((block) => (block.type === 'tool_use' ? block.input : undefined));
    const blocks = entry.message.content.filter((block) => block.type === 'tool_use');
    for (const { id, input } of blocks) inputs.set(id, input);
    read.replies.set(place, { model: entry.message.model, tools: blocks.map(({ name }) => name) });
  }
  // Waiting calls belong to the last reply; those of an agent belong to another session.
  const waiting = approvals.filter(({ agent }) => agent === undefined);
  const waits = waiting.map((each) => waitingCall(each, last[each.index]));
  if (waits.length > 0) read.calls.set(place, [...(read.calls.get(place) ?? []), ...waits]);
  return read;
}

function waitingCall({ call, tool, askedAt, question }: PendingApproval, input: unknown): LoggedCall {
  const outcome = question ? 'waits for an answer' : 'waits for a decision';
  const durationMs = askedAt === undefined ? 0 : Math.max(0, Date.now() - askedAt);
  return { id: `waits.${call}`, tool, input, durationMs, outcome, waits: true };
}

export async function readTranscript(
  sessions: Pick<PerdureClient, 'transcript'>,
  description: Waiting,
  steps: readonly Step[],
): Promise<ToldByTranscript> {
  const { replies, calls } = await readCalls(sessions, description).catch((error: unknown): ReadCalls => {
    // A transcript that cannot be read leaves the steps their general names.
    if (!(error instanceof Error) || !['StoreError', 'ClientProblem'].includes(error.name)) throw error;
    return { replies: new Map(), calls: new Map() };
  });
  const named = new Map<Step, string>();
  for (const step of steps) {
    const reply = replies.get(placeOf(step));
    if (step.name === 'callModel' && reply) named.set(step, reply.model);
    if (step.name !== 'runTool' || !reply) continue;
    const only = new Set(reply.tools).size === 1 ? reply.tools[0] : undefined;
    const tool = only ?? (reply.tools.length > 0 ? `one of ${[...new Set(reply.tools)].join(', ')}` : undefined);
    if (tool !== undefined) named.set(step, tool);
  }
  const isOfCalls = ({ name }: Step): boolean => name === 'callModel' || name === 'runTool';
  return {
    named: (step) => named.get(step) ?? null,
    callsOf: (step) => (isOfCalls(step) ? (calls.get(placeOf(step)) ?? []) : []),
    hasAsked: (step) => hasOnlyAsked(step, steps, calls.get(placeOf(step)) ?? []),
  };
}

/**
 * Each call that waits was asked about by a step, and each that was decided by a step before. Where
 * these are all the steps of the iteration that nobody had decided about, each of them asked.
 */
function hasOnlyAsked(step: Step, steps: readonly Step[], calls: readonly LoggedCall[]): boolean {
  if (step.name !== 'runTool' || step.decided || step.delegated) return false;
  const others = steps.filter((other) => other.name === 'runTool' && placeOf(other) === placeOf(step));
  const decided = others.filter((other) => other.decided).length + calls.filter(({ waits }) => waits).length;
  return others.filter((other) => !other.decided && !other.delegated).length === decided;
}

const placeOf = ({ run, iteration }: Step): string => `${run}.${iteration}`;

/** Stands below the step of its iteration. */
export function formatLoggedCall(paint: Paint, { tool, input, durationMs, outcome, waits }: LoggedCall): string {
  const words = `${oneLine(tool, 60)} ${callWhat(tool, input, 80)}`.trimEnd();
  const how = outcome === 'ok' ? outcome : paint.yellow(outcome);
  if (!waits) return `    └ ${words}  ${shortTime(durationMs)}  ${how}`;
  return `    └ ${words}  ${how}${durationMs === 0 ? '' : `, for ${shortTime(durationMs)} so far`}`;
}

/** `named` is the model or the tool of the step, where it is known. */
export function stepLine(paint: Paint, step: Step, named: string | null = null, hasAsked = false): string {
  const { name, run, iteration, askedAt, beganAt, endedAt, attempt, worker, failure } = step;
  const took = endedAt === null ? (beganAt === null ? 'waits' : 'runs') : shortTime(endedAt - (beganAt ?? askedAt));
  const place = `run ${run}${iteration === null ? '' : ` #${iteration}`}`;
  const delay = beganAt !== null && beganAt - askedAt >= 1_000 ? [`after ${shortTime(beganAt - askedAt)}`] : [];
  const again =
    attempt > 1 ? [paint.yellow(`attempt ${attempt}${failure === null ? '' : `: ${oneLine(failure, 300)}`}`)] : [];
  const by = worker === null ? [] : [paint.dim(`by ${workerName(worker)}`)];
  return [
    paint.dim(formatMoment(beganAt ?? askedAt)),
    place.padEnd(10),
    oneLine(named ?? WORDS[name] ?? name, 40).padEnd(18),
    hasAsked && endedAt !== null ? 'asked' : took,
    ...delay,
    ...again,
    ...by,
  ].join('  ');
}
