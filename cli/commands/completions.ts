// perdure completions: what a shell needs to complete our commands and options.
import { Argument, type Command } from 'commander';
import type { Cli } from '../cli.ts';
import { completionScript, type Shell, SHELLS } from '../help/completions.ts';

export function completionsCommand(program: Command, cli: Cli): void {
  program
    .command('completions')
    .description('print completions for a shell, to be sourced')
    .addArgument(new Argument('<shell>', SHELLS.join(', ')).choices(SHELLS))
    .action((shell: Shell) => cli.print(completionScript(shell, program)));
}
