// The command line: parses it, runs one command, and ends the process with its status.
import type { Command, CommanderError } from 'commander';
import type { Cli, Io } from './cli.ts';
import { failureOf, failureText, STATUS, UsageError } from './errors.ts';
import { VERSION, createRedactor, isPlain } from '../client/faces/start.ts';

/** Runs a command. `args` exclude node and the script. Returns the exit status. */
export async function main(args: readonly string[], original: Io): Promise<number> {
  const verbose = beforeDashes(args).includes('--verbose');
  const io = beforeDashes(args).includes('--plain') ? plainIo(original) : original;
  let status: number = STATUS.ok;
  // Its answer needs none of what the commands load.
  if (args.length === 1 && ASKS_VERSION.has(args[0] ?? '')) {
    io.stdout.write(`${VERSION}\n`);
    return status;
  }
  const started = sayStarting(args, io);
  try {
    const { cliOf } = await import('./cli.ts');
    const cli = cliOf(io, { verbose, exit: (code) => (status = code), started });
    await parse(cli, args);
    started();
    return status;
  } catch (error) {
    started();
    if (isCommanderError(error)) return reportUsage(error, io);
    io.stderr.write(createRedactor(io.env)(failureText(error, verbose)));
    return failureOf(error).status;
  }
}

/** The variable reaches everything that writes for people, as if it had been set before. */
const plainIo = ({ stdin, stdout, stderr, env, cwd }: Io): Io => ({
  stdin,
  stdout,
  stderr,
  cwd,
  env: { ...env, PERDURE_PLAIN: '1' },
});

const ASKS_VERSION = new Set(['--version', '-V']);

/** Matches by name, as `failureOf` does: its class is loaded with the commands. */
const isCommanderError = (error: unknown): error is CommanderError =>
  error instanceof Error && ['CommanderError', 'InvalidArgumentError'].includes(error.name);

async function parse(cli: Cli, args: readonly string[]): Promise<void> {
  const { createProgram } = await import('./program.ts');
  const whole = withoutCommand(args) && cli.openInput !== null ? ['chat', ...args] : args;
  const [named] = whole.filter((arg) => !EVERYWHERE.has(arg));
  // Shells complete every command, and help lists them all.
  const root = await createProgram(cli, named === 'completions' ? undefined : named);
  const [first, about] = beforeDashes(whole).filter((arg) => !arg.startsWith('-'));
  // Commander would print the help of the whole and call it a mistake.
  if (first === 'help' && about !== undefined && commandIn(root, [about]) === undefined)
    throw new UsageError(`Unknown command "${about}". Run \`${cli.self} --help\` for a list.`);
  if (whole.length === 0) root.outputHelp();
  else await root.parseAsync(textsLast(root, whole), { from: 'user' });
}

/** Flags of the program itself; without a command, other flags belong to a chat. */
const OWN = new Set(['--help', '-h', '--version', '-V']);

function withoutCommand(args: readonly string[]): boolean {
  const [first] = args.filter((arg) => !EVERYWHERE.has(arg));
  return first === undefined || (first.startsWith('-') && first !== '--' && !OWN.has(first));
}

/**
 * Moves texts that begin with a dash behind `--`, since commander would take them for options:
 * names of options contain no blank. A text is the last argument of every command that takes one.
 * An option's value stays with its option.
 */
export function textsLast(root: Command, args: readonly string[]): readonly string[] {
  const before = beforeDashes(args);
  const command = commandIn(root, before);
  const taking = new Set((command?.options ?? []).filter(({ required }) => required).map(({ long }) => long));
  const isText = (arg: string, at: number): boolean => /^-[^=]*\s/.test(arg) && !taking.has(before[at - 1]);
  const texts = before.filter(isText);
  if (texts.length === 0) return args;
  return [...before.filter((arg, at) => !isText(arg, at)), '--', ...texts, ...args.slice(before.length + 1)];
}

/** Finds the named command, or the named subcommand of a command. */
function commandIn(root: Command, args: readonly string[]): Command | undefined {
  const [first, second] = args.filter((arg) => !arg.startsWith('-'));
  const command = root.commands.find((each) => each.name() === first);
  return command?.commands.find((each) => each.name() === second) ?? command;
}

/** Help and version are successes; every other error of commander is a mistake in the arguments. */
function reportUsage({ exitCode, message }: CommanderError, { stderr }: Io): number {
  if (exitCode === 0) return STATUS.ok;
  const sentence = message
    .replace(/^error: /, '')
    .replace('(outputHelp)', 'name a command')
    .split('\n')
    .map((line) => line.trim())
    .join(' ');
  stderr.write(`perdure: ${sentence}; see perdure --help\n`);
  return STATUS.usage;
}

function beforeDashes(args: readonly string[]): readonly string[] {
  const end = args.indexOf('--');
  return end === -1 ? args : args.slice(0, end);
}

// Says at once that a command starts: loading it, and a server, takes seconds.
type Terminal = { readonly isTTY?: boolean | undefined; write(text: string): unknown };
type Env = Readonly<Record<string, string | undefined>>;

/** Flags that every command has. */
const EVERYWHERE: ReadonlySet<string> = new Set(['--verbose', '--plain']);

/** Commands that a person waits in front of. */
const SLOW: ReadonlySet<string> = new Set(['chat', 'run', 'watch', 'top', 'approvals', 'start-here']);

/**
 * Returns the function that takes the words away, once something else is shown. What is typed
 * meanwhile stands behind them, and goes to the row that it was meant for.
 */
export function sayStarting(args: readonly string[], { stderr, env }: { stderr: Terminal; env: Env }): () => void {
  const [first = 'chat'] = args.filter((arg) => !EVERYWHERE.has(arg));
  const name = first.startsWith('-') ? 'chat' : first;
  const isAbout = args.some((arg) => ['--help', '-h', '--version', '-V'].includes(arg));
  if (stderr.isTTY !== true || env['NO_COLOR'] || isPlain(env) || !SLOW.has(name) || isAbout) return () => undefined;
  stderr.write('\u001b[2mStarting…\u001b[22m ');
  let isShown = true;
  return () => {
    if (isShown) stderr.write('\r\u001b[K');
    isShown = false;
  };
}
