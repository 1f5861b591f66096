// Builds the program of `perdure` from the commands that are asked for.
import { Command } from 'commander';
import { VERSION } from '../worker/version.ts';
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
    const told = exampleHelp(command.name());
    if (told !== '') command.addHelpText('after', told);
  }
  return root;
}

// The commands of `perdure` by what people use them for, in the order of the help. Each is loaded
// when it is used.
type CommandGroup = 'Work' | 'Look' | 'Decide' | 'Serve' | 'Keep';

/** Adds a command to the program. */
type AddCommand = (program: Command, cli: Cli) => void;

type ListedCommand = {
  readonly name: string;
  readonly group: CommandGroup;
  readonly load: () => Promise<AddCommand>;
};

export const LISTED_COMMANDS: readonly ListedCommand[] = [
  { name: 'chat', group: 'Work', load: async () => (await import('./commands/chat.ts')).chatCommand },
  { name: 'run', group: 'Work', load: async () => (await import('./commands/run.ts')).runCommand },
  { name: 'start', group: 'Work', load: async () => (await import('./commands/start.ts')).startCommand },
  { name: 'send', group: 'Work', load: async () => (await import('./commands/send.ts')).sendCommand },
  { name: 'btw', group: 'Work', load: async () => (await import('./commands/btw.ts')).btwCommand },
  { name: 'answer', group: 'Work', load: async () => (await import('./commands/answer.ts')).answerCommand },
  { name: 'watch', group: 'Work', load: async () => (await import('./commands/watch.ts')).watchCommand },
  { name: 'schedule', group: 'Work', load: async () => (await import('./commands/schedule.ts')).scheduleCommand },
  { name: 'skills', group: 'Work', load: async () => (await import('./commands/skills.ts')).skillsCommand },
  { name: 'memory', group: 'Work', load: async () => (await import('./commands/memory.ts')).memoryCommand },
  { name: 'mcp-tools', group: 'Work', load: async () => (await import('./commands/mcp-tools.ts')).mcpToolsCommand },
  { name: 'start-here', group: 'Work', load: async () => (await import('./commands/start-here.ts')).startHereCommand },
  { name: 'list', group: 'Look', load: async () => (await import('./commands/list.ts')).listCommand },
  { name: 'top', group: 'Look', load: async () => (await import('./commands/top.ts')).topCommand },
  { name: 'show', group: 'Look', load: async () => (await import('./commands/show.ts')).showCommand },
  { name: 'logs', group: 'Look', load: async () => (await import('./commands/logs.ts')).logsCommand },
  { name: 'diff', group: 'Look', load: async () => (await import('./commands/diff.ts')).diffCommand },
  { name: 'open', group: 'Look', load: async () => (await import('./commands/open.ts')).openCommand },
  { name: 'approvals', group: 'Decide', load: async () => (await import('./commands/approvals.ts')).approvalsCommand },
  { name: 'approve', group: 'Decide', load: async () => (await import('./commands/decisions.ts')).approveCommand },
  { name: 'deny', group: 'Decide', load: async () => (await import('./commands/decisions.ts')).denyCommand },
  { name: 'interrupt', group: 'Decide', load: async () => (await import('./commands/stops.ts')).interruptCommand },
  { name: 'resume', group: 'Decide', load: async () => (await import('./commands/stops.ts')).resumeCommand },
  { name: 'cancel', group: 'Decide', load: async () => (await import('./commands/stops.ts')).cancelCommand },
  { name: 'compact', group: 'Decide', load: async () => (await import('./commands/compact.ts')).compactCommand },
  { name: 'rewind', group: 'Decide', load: async () => (await import('./commands/rewind.ts')).rewindCommand },
  { name: 'fork', group: 'Decide', load: async () => (await import('./commands/fork.ts')).forkCommand },
  { name: 'apply', group: 'Decide', load: async () => (await import('./commands/apply.ts')).applyCommand },
  { name: 'top-up', group: 'Decide', load: async () => (await import('./commands/top-up.ts')).topUpCommand },
  { name: 'snip', group: 'Decide', load: async () => (await import('./commands/snip.ts')).snipCommand },
  { name: 'dev', group: 'Serve', load: async () => (await import('./commands/dev.ts')).devCommand },
  { name: 'worker', group: 'Serve', load: async () => (await import('./commands/worker.ts')).workerCommand },
  { name: 'page', group: 'Serve', load: async () => (await import('./commands/page.ts')).pageCommand },
  { name: 'serve', group: 'Serve', load: async () => (await import('./commands/serve.ts')).serveCommand },
  {
    name: 'scripted-model',
    group: 'Serve',
    load: async () => (await import('./commands/scripted-model.ts')).scriptedModelCommand,
  },
  { name: 'export', group: 'Keep', load: async () => (await import('./commands/export.ts')).exportCommand },
  { name: 'import', group: 'Keep', load: async () => (await import('./commands/import.ts')).importCommand },
  { name: 'repair', group: 'Keep', load: async () => (await import('./commands/repair.ts')).repairCommand },
  { name: 'gc', group: 'Keep', load: async () => (await import('./commands/gc.ts')).gcCommand },
  { name: 'doctor', group: 'Keep', load: async () => (await import('./commands/doctor.ts')).doctorCommand },
  { name: 'setup', group: 'Keep', load: async () => (await import('./commands/setup.ts')).setupCommand },
  {
    name: 'completions',
    group: 'Keep',
    load: async () => (await import('./commands/completions.ts')).completionsCommand,
  },
];
