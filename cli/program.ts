// Builds the program of `perdure` from the commands that are asked for.
import { Command } from 'commander';
import { VERSION } from '../client/faces/start.ts';
import type { Cli } from './cli.ts';

const VERBOSE = ['--verbose', 'print more, with stack traces'] as const;
const PLAIN = ['--plain', 'print lines in order and redraw nothing: for screen readers and slow lines'] as const;

/**
 * Builds the program with the command of this name alone; without such a name, with all of them. It
 * throws CommanderError instead of ending the process, and prints help to standard output only.
 */
export async function createProgram(cli: Cli, name?: string): Promise<Command> {
  const root = new Command('perdure')
    .description('A durable agent: its work continues after crashes, restarts and deploys.')
    .version(VERSION)
    .option(...VERBOSE)
    .option(...PLAIN);
  const [one] = LISTED_COMMANDS.filter((listed) => listed.name === name);
  const listed = one ? [one] : LISTED_COMMANDS;
  const [{ exampleHelp }, ...adding] = await Promise.all([
    import('./help/examples.ts'),
    ...listed.map(({ load }) => load()),
  ]);
  for (const [at, { group }] of listed.entries()) {
    root.commandsGroup(`${group}:`);
    adding[at]?.(root, cli);
  }
  root.helpCommand('help [command]', 'print the help of a command');
  for (const command of [root, ...root.commands.flatMap((each) => [each, ...each.commands])]) {
    command
      .exitOverride()
      .showSuggestionAfterError(true)
      .configureOutput({ writeOut: cli.print, writeErr: () => undefined });
    if (command === root) continue;
    command.option(...VERBOSE).option(...PLAIN);
    const examples = exampleHelp(command.name());
    if (examples !== '') command.addHelpText('after', examples);
  }
  return root;
}

/** Adds a command to the program. */
type AddCommand = (program: Command, cli: Cli) => void;

/**
 * The commands of `perdure` by what people use them for, in the order of the help. Each is loaded
 * when it is used.
 */
const COMMANDS: Readonly<Record<string, Readonly<Record<string, () => Promise<AddCommand>>>>> = {
  Work: {
    chat: async () => (await import('./commands/chat.ts')).chatCommand,
    run: async () => (await import('./commands/run.ts')).runCommand,
    start: async () => (await import('./commands/run.ts')).startCommand,
    send: async () => (await import('./commands/steer.ts')).sendCommand,
    btw: async () => (await import('./commands/steer.ts')).btwCommand,
    answer: async () => (await import('./commands/decisions.ts')).answerCommand,
    watch: async () => (await import('./commands/watch.ts')).watchCommand,
    schedule: async () => (await import('./commands/schedule.ts')).scheduleCommand,
    skills: async () => (await import('./commands/skills-and-tools.ts')).skillsCommand,
    memory: async () => (await import('./commands/memory.ts')).memoryCommand,
    'mcp-tools': async () => (await import('./commands/skills-and-tools.ts')).mcpToolsCommand,
    'start-here': async () => (await import('./commands/run.ts')).startHereCommand,
  },
  Look: {
    list: async () => (await import('./commands/list.ts')).listCommand,
    top: async () => (await import('./commands/top.ts')).topCommand,
    show: async () => (await import('./commands/show.ts')).showCommand,
    logs: async () => (await import('./commands/logs.ts')).logsCommand,
    diff: async () => (await import('./commands/diff.ts')).diffCommand,
    open: async () => (await import('./commands/page.ts')).openCommand,
  },
  Decide: {
    approvals: async () => (await import('./commands/approvals.ts')).approvalsCommand,
    approve: async () => (await import('./commands/decisions.ts')).approveCommand,
    deny: async () => (await import('./commands/decisions.ts')).denyCommand,
    interrupt: async () => (await import('./commands/stops.ts')).interruptCommand,
    resume: async () => (await import('./commands/stops.ts')).resumeCommand,
    cancel: async () => (await import('./commands/stops.ts')).cancelCommand,
    compact: async () => (await import('./commands/steer.ts')).compactCommand,
    rewind: async () => (await import('./commands/rewind.ts')).rewindCommand,
    fork: async () => (await import('./commands/fork.ts')).forkCommand,
    apply: async () => (await import('./commands/diff.ts')).applyCommand,
    move: async () => (await import('./commands/steer.ts')).moveCommand,
    'top-up': async () => (await import('./commands/steer.ts')).topUpCommand,
    snip: async () => (await import('./commands/steer.ts')).snipCommand,
  },
  Serve: {
    dev: async () => (await import('./commands/dev.ts')).devCommand,
    worker: async () => (await import('./commands/dev.ts')).workerCommand,
    page: async () => (await import('./commands/page.ts')).pageCommand,
    serve: async () => (await import('./commands/serve.ts')).serveCommand,
    environments: async () => (await import('./commands/environments.ts')).environmentsCommand,
    'codec-server': async () => (await import('./commands/codec-server.ts')).codecServerCommand,
    'scripted-model': async () => (await import('./commands/dev.ts')).scriptedModelCommand,
  },
  Keep: {
    export: async () => (await import('./commands/carry-session.ts')).exportCommand,
    import: async () => (await import('./commands/carry-session.ts')).importCommand,
    repair: async () => (await import('./commands/steer.ts')).repairCommand,
    gc: async () => (await import('./commands/gc.ts')).gcCommand,
    doctor: async () => (await import('./commands/setup.ts')).doctorCommand,
    setup: async () => (await import('./commands/setup.ts')).setupCommand,
    completions: async () => (await import('./commands/setup.ts')).completionsCommand,
  },
};

export const LISTED_COMMANDS = Object.entries(COMMANDS).flatMap(([group, commands]) =>
  Object.entries(commands).map(([name, load]) => ({ name, group, load })),
);
