// perdure schedule: sends prompts at the times of a cron expression (L87).
import { realpathSync } from 'node:fs';
import { type Command, Option } from 'commander';
import { jsonLine } from '../../system/text.ts';
import type {
  OpenedServer,
  OverlapPolicy,
  ScheduleChanges,
  Triggered,
  ScheduleInfo,
} from '../../client/faces/types.ts';
import { clockChangeText, scheduleTable } from '../../client/faces/lists.ts';
import { overlapPolicies, cronProblem, timeZoneProblem } from '../../client/faces/schedules.ts';
import { formatMoment, present } from '../../client/faces/basics.ts';
import { readPrompt } from '../prompt-argument.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import {
  CONFIG_OPTION,
  type ConfigFlags,
  placeConfig,
  refuseMistakenRules,
  workerConfig,
  workersOfNew,
} from '../worker-config.ts';
import { addOptionFlags, addRunOptions, parseTime, type RunFlags, runOptions, parseWorkspace } from '../run-options.ts';
import { withServer } from '../with-server.ts';

type Flags = RunFlags &
  ConfigFlags & {
    readonly promptFile?: string;
    readonly name?: string;
    readonly timeZone?: string;
    readonly overlap?: OverlapPolicy;
    readonly catchUp?: string;
  };

const CREATE_HELP = `
Nobody is there when it fires: unless --permission-mode says otherwise, calls that would have to be asked about are refused (dontAsk).
A session of its own closes when its run has ended. With --session, the options hold for that session from then on, and its own mode stays.`;

const UPDATE_HELP = `
The value "none" returns an option of its runs to the worker's own setting. Sessions under way go on as they are.`;

type UpdateFlags = Omit<Flags, 'name' | 'session'> & { readonly cron?: string; readonly task?: string };

export function scheduleCommand(program: Command, cli: Cli): void {
  const group = program.command('schedule').description('run tasks at the times of a cron expression');
  addCreate(group, cli);
  addUpdate(group, cli);
  group
    .command('list')
    .description('list the schedules')
    .option('--json', 'print one JSON object per schedule')
    .action(async ({ json = false }: { readonly json?: boolean }) => cli.exit(await listSchedules(cli, json)));
  for (const act of ACTS) addAct(group, cli, act);
}

function addCreate(group: Command, cli: Cli): void {
  const create = group
    .command('create')
    .description('create a schedule: each firing starts a new session, or is the next prompt of --session')
    .argument(
      '<cron>',
      'minute, hour, day of the month, month, day of the week, such as "0 6 * * 1"; or @daily and the like',
    )
    .argument('[task]', 'the task; - reads standard input, and piped input is added after the text')
    .option('--name <name>', 'the schedule’s name, with which its sessions’ ids begin (default: one is made)')
    .option(...CONFIG_OPTION);
  addRunOptions(addPlanOptions(create))
    .addHelpText('after', CREATE_HELP)
    .action(async (cron: string, task: string | undefined, flags: Flags) => {
      cli.exit(await createSchedule(cli, { cron, task, flags }));
    });
}

/** Adds what `create` sets and `update` changes. */
function addPlanOptions(command: Command): Command {
  return command
    .option('--time-zone <zone>', 'in which the times are meant, such as Europe/Berlin (a new one: this machine’s)')
    .addOption(
      new Option('--overlap <policy>', 'what happens when the firing before still runs (a new one: skip)').choices(
        overlapPolicies,
      ),
    )
    .option(
      '--catch-up <time>',
      'how long after its time a firing that was due while no server ran is made up for, as in 1h (a new one: 1d)',
    )
    .option('--prompt-file <file>', 'read the task from a file');
}

function addUpdate(group: Command, cli: Cli): void {
  const update = group
    .command('update')
    .description('change a schedule, from its next firing on; options that you leave out stay the same')
    .argument('<name>', 'the schedule’s name')
    .option('--cron <cron>', 'the times, as `create` takes them')
    .option('--task <task>', 'the task');
  addOptionFlags(addPlanOptions(update))
    .addHelpText('after', UPDATE_HELP)
    .action(async (name: string, flags: UpdateFlags) => {
      cli.exit(await updateSchedule(cli, name, flags));
    });
}

type Act = {
  readonly name: string;
  readonly description: string;
  readonly work: (opened: OpenedServer, schedule: string) => Promise<string>;
};

const ACTS: readonly Act[] = [
  {
    name: 'pause',
    description: 'let a schedule fire no more until it is resumed',
    work: async ({ sessions }, name) => {
      await sessions.schedules.pause(name);
      return `schedule ${name} is paused`;
    },
  },
  {
    name: 'resume',
    description: 'let a paused schedule fire again',
    work: async ({ sessions }, name) => {
      await sessions.schedules.resume(name);
      return nextText(await sessions.schedules.describe(name));
    },
  },
  {
    name: 'delete',
    description: 'delete a schedule; its sessions stay',
    work: async ({ sessions }, name) => {
      await sessions.schedules.delete(name);
      return `schedule ${name} is deleted; its sessions stay`;
    },
  },
  {
    name: 'trigger',
    description: 'let a schedule fire now, by its overlap policy',
    work: async ({ sessions }, name) => triggerText(name, await sessions.schedules.trigger(name)),
  },
];

function addAct(group: Command, cli: Cli, { name, description, work }: Act): void {
  group
    .command(name)
    .description(description)
    .argument('<name>', 'the schedule’s name')
    .action(async (schedule: string) => {
      const sayDone = (opened: OpenedServer) => work(opened, schedule).then((line) => (cli.say(line), STATUS.ok));
      cli.exit(await withServer(cli, sayDone));
    });
}

type Given = { readonly cron: string; readonly task: string | undefined; readonly flags: Flags };

async function createSchedule(cli: Cli, { cron, task, flags }: Given): Promise<number> {
  const { name, overlap, timeZone = ownTimeZone(cli.env['TZ']) } = flags;
  const catchUpMs = flags.catchUp === undefined ? undefined : parseTime('--catch-up', flags.catchUp);
  const problem = cronProblem(cron) ?? timeZoneProblem(timeZone);
  if (problem !== undefined) throw new UsageError(problem);
  const { session, ...options } = runOptions(flags, cli.cwd);
  const prompt = await readPrompt(cli, task, flags.promptFile);
  const chosen = await workerConfig(cli, flags.config);
  refuseMistakenRules(options, chosen.config);
  return withServer(cli, async (opened) => {
    const newWorkers = await workersOfNew(cli, chosen, session ?? 'schedule');
    if (session !== undefined) await placeConfig(cli, opened, chosen, { session, mine: newWorkers });
    const own = { cwd: parseWorkspace('.', cli.cwd()), ...options, workers: newWorkers };
    const schedule = await opened.sessions.schedules.create(cron, prompt, {
      ...(session === undefined ? own : { ...options, session }),
      timeZone,
      ...present({ name, overlap, catchUpMs }),
    });
    cli.print(`${schedule.name}\n`);
    cli.say(nextText(schedule));
    for (const change of schedule.clockChanges) cli.say(clockChangeText(schedule, change));
    await sayIfNobodyStays(cli, opened, schedule);
    return STATUS.ok;
  });
}

async function updateSchedule(cli: Cli, name: string, flags: UpdateFlags): Promise<number> {
  const { cron, overlap, timeZone, catchUp, promptFile } = flags;
  const options = runOptions(flags, cli.cwd);
  const isTask = flags.task !== undefined || promptFile !== undefined;
  const changes: ScheduleChanges = present({
    cron,
    timeZone,
    overlap,
    catchUpMs: catchUp === undefined ? undefined : parseTime('--catch-up', catchUp),
    task: isTask ? await readPrompt(cli, flags.task, promptFile) : undefined,
    options: Object.keys(options).length > 0 ? options : undefined,
  });
  const problem =
    (cron === undefined ? undefined : cronProblem(cron)) ??
    (timeZone === undefined ? undefined : timeZoneProblem(timeZone)) ??
    (Object.keys(changes).length > 0 ? undefined : 'nothing is given to change: `--help` lists what can be');
  if (problem !== undefined) throw new UsageError(problem);
  return withServer(cli, async ({ sessions }) => {
    const changed = await sessions.schedules.update(name, changes);
    cli.say(nextText(changed));
    for (const change of changed.clockChanges) cli.say(clockChangeText(changed, change));
    return STATUS.ok;
  });
}

async function listSchedules(cli: Cli, json: boolean): Promise<number> {
  return withServer(cli, async ({ sessions }) => {
    const found: ScheduleInfo[] = [];
    for await (const schedule of sessions.schedules.list()) found.push(schedule);
    if (json) for (const schedule of found) cli.print(`${jsonLine(schedule)}\n`);
    else if (found.length > 0) cli.print(scheduleTable(cli.out, found));
    if (found.length === 0) cli.say(`no schedules yet: ${cli.self} schedule create "0 6 * * 1" "your task"`);
    return STATUS.ok;
  });
}

function nextText({ name, next }: ScheduleInfo): string {
  return next === null ? `schedule ${name} is not due again` : `schedule ${name} fires next at ${formatMoment(next)}`;
}

/**
 * Returns the machine's time zone. Throws UsageError when it has no name, since a task would run at
 * other hours than were meant.
 */
function ownTimeZone(named: string | undefined): string {
  const own: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const zone = named === undefined ? own : zoneOf(named.replace(/^:/, ''));
  if (zone !== undefined && timeZoneProblem(zone) === undefined) return zone;
  const excerpt = JSON.stringify(named?.slice(0, 60));
  const what = named === '' ? 'the variable TZ is empty' : `the variable TZ is ${excerpt}, which names no time zone`;
  const why = named === undefined ? 'the time zone of this machine has no name' : what;
  throw new UsageError(`${why}: give --time-zone with a name such as Europe/Berlin or UTC`);
}

/** Returns the name of a zone that is given as a file. */
function zoneOf(named: string): string | undefined {
  if (!named.startsWith('/')) return named;
  try {
    return /\/zoneinfo\/(?:posix\/)?(.+)$/.exec(realpathSync(named))?.[1];
  } catch {
    return undefined;
  }
}

function triggerText(name: string, { outcome, session }: Triggered): string {
  if (outcome === 'started') return `schedule ${name} has fired: session ${session ?? 'unknown'}`;
  const before = `the firing of schedule ${name} before it still runs`;
  return outcome === 'skipped' ? `${before}: this one was skipped` : `${before}: this one comes after it`;
}

/**
 * A schedule made on a server that goes with its commands fires only while one of them, or a
 * worker, is there.
 */
async function sayIfNobodyStays(
  cli: Cli,
  { embedded, folder, temporal }: OpenedServer,
  schedule: ScheduleInfo,
): Promise<void> {
  const { taskQueue, configuration } = schedule;
  const { workersOf } = await import('../../client/faces/servers.ts');
  const { isQueuePolled } = await import('../../connection/worker-polls.ts');
  const isThere =
    embedded === null
      ? await isQueuePolled({ temporal: temporal.client, taskQueue })
      : workersOf(folder, taskQueue).length > 0;
  if (isThere) return;
  const config = configuration?.file === undefined ? '' : ` --config ${configuration.file}`;
  const server = embedded === null ? '' : ', and the server runs only while a command does';
  cli.say(`no worker runs for it${server}: \`${cli.self} worker${config}\` starts one that stays`);
}
