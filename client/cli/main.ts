// The command line: parses it, runs one command, and ends the process with its status.
import { CommanderError } from 'commander';
import { type Cli, cliOf, type Io } from './cli.ts';
import { failureOf, failureText, STATUS } from './errors.ts';
import { program } from './program.ts';

/** `args` without node and the script. Returns the exit status. */
export async function main(args: readonly string[], io: Io): Promise<number> {
  const verbose = beforeDashes(args).includes('--verbose');
  let status: number = STATUS.ok;
  try {
    const cli = cliOf(io, verbose, (ended) => (status = ended));
    await parse(cli, args);
    return status;
  } catch (error) {
    if (error instanceof CommanderError) return usage(error, io);
    io.stderr.write(failureText(error, verbose));
    return failureOf(error).status;
  }
}

async function parse(cli: Cli, args: readonly string[]): Promise<void> {
  const root = program(cli);
  if (args.length === 0) root.outputHelp();
  else await root.parseAsync(args, { from: 'user' });
}

/** Help and the version are asked for; everything else of commander's is a mistake in the arguments. */
function usage({ exitCode, message }: CommanderError, { stderr }: Io): number {
  if (exitCode === 0) return STATUS.ok;
  const sentence = message.replace(/^error: /, '').replaceAll(/\s*\n\s*/g, ' ');
  stderr.write(`perdure: ${sentence}; see perdure --help\n`);
  return STATUS.usage;
}

function beforeDashes(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}
