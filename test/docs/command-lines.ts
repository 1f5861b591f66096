// The command lines of `perdure` in a text, parsed as the program parses them.
import { CommanderError } from 'commander';
import { cliOf } from '../../cli/cli.ts';
import { textsLast } from '../../cli/main.ts';
import { createProgram } from '../../cli/program.ts';

/** A word of a shell: quoted parts, or anything up to what ends a command. */
const WORD = /\s*((?:"(?:\\.|[^"])*"|'[^']*'|\\.|[^\s"'|;&<>()])+)/y;

/** The arguments after each `perdure` of a line that isn't the value of an option. */
export function commandLines(line: string): readonly (readonly string[])[] {
  return [...line.matchAll(/(?<=^|[\s(])(?<!--\S+ )perdure(?=\s|$)/g)].map(({ index }) => wordsFrom(line, index + 7));
}

function wordsFrom(line: string, from: number): readonly string[] {
  const words: string[] = [];
  WORD.lastIndex = from;
  for (let found = WORD.exec(line); found; found = WORD.exec(line)) {
    const [, word = ''] = found;
    if (word.startsWith('#')) break;
    words.push(word.replaceAll(/"((?:\\.|[^"])*)"|'([^']*)'/g, '$1$2'));
  }
  return words;
}

/** A line that only names a command leaves out what it needs. */
const LEFT_OUT: ReadonlySet<string> = new Set([
  'commander.missingArgument',
  'commander.optionMissingArgument',
  'commander.missingMandatoryOptionValue',
]);

const cli = cliOf(process, { verbose: false, exit: () => undefined });

/** Returns what the program finds wrong with the arguments, or null. It carries nothing out. */
export async function problemOf(args: readonly string[], { isMention = false } = {}): Promise<string | null> {
  const [first = ''] = args.filter((arg) => arg !== '--verbose' && arg !== '--plain');
  const isChat = first === '' || (first.startsWith('-') && !['--help', '--version'].includes(first));
  const whole = isChat ? ['chat', ...args] : args;
  const program = await createProgram(cli);
  program.configureOutput({ writeOut: () => undefined });
  for (const command of program.commands.flatMap((each) => [each, ...each.commands]))
    if (command.commands.length === 0) command.action(() => undefined).configureOutput({ writeOut: () => undefined });
  try {
    await program.parseAsync(textsLast(program, whole), { from: 'user' });
    return null;
  } catch (error) {
    if (!(error instanceof CommanderError)) return String(error);
    return error.exitCode === 0 || (isMention && LEFT_OUT.has(error.code)) ? null : error.message;
  }
}
