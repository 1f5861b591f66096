// Builds the program of `perdure` from the commands that are asked for.
import { Command } from 'commander';
import { VERSION } from '../worker/version.ts';
import type { Cli } from './cli.ts';
import { LISTED_COMMANDS } from './command-list.ts';

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
