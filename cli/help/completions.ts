// Makes completions for bash, zsh and fish from the definitions of the commands: names, options,
// and values of choices.
import type { Command, Option } from 'commander';

export const SHELLS = ['bash', 'zsh', 'fish'] as const;
export type Shell = (typeof SHELLS)[number];

type Completion = { readonly name: string; readonly about: string };
type CompletedCommand = Completion & {
  /** Subcommands of the command. */
  readonly commands: readonly Completion[];
  readonly options: readonly (Completion & {
    readonly takes: 'nothing' | 'text' | 'file' | 'folder';
    readonly values: readonly string[];
  })[];
};

export function completionScript(shell: Shell, root: Command): string {
  const commands = commandsOf(root);
  return shell === 'bash' ? bashScript(commands) : shell === 'zsh' ? zshScript(commands) : fishScript(commands);
}

function commandsOf(root: Command): readonly CompletedCommand[] {
  const visible = root.createHelp().visibleCommands(root);
  return visible.map((command) => ({
    name: command.name(),
    about: command.description(),
    commands: command.commands.map((each) => ({ name: each.name(), about: each.description() })),
    options: optionsOf(command),
  }));
}

/** Includes options of subcommands, each once. */
function optionsOf(command: Command): CompletedCommand['options'] {
  const all = [command, ...command.commands].flatMap(({ options }) => options.filter(({ hidden }) => !hidden));
  const byName = new Map(all.flatMap((option) => optionSpellings(option)).map((option) => [option.name, option]));
  return [...byName.values()];
}

function optionSpellings(option: Option): CompletedCommand['options'] {
  const { long, short, description, argChoices, flags } = option;
  const [, value = ''] = /[<[]([a-z]+)/.exec(flags) ?? [];
  const takes = value === '' ? 'nothing' : value === 'file' ? 'file' : value === 'dir' ? 'folder' : 'text';
  // Some options name their values only in their description; a test compares them with the values
  // accepted elsewhere.
  const modes = /^what runs without asking: (.+)$/.exec(description)?.[1]?.split(', ');
  const details = { about: description, takes, values: argChoices ?? modes ?? [] } as const;
  return [long, short].flatMap((name) => (name ? [{ name, ...details }] : []));
}

const nameList = (all: readonly Completion[]): string => all.map(({ name }) => name).join(' ');

function bashScript(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(
    ({ name, options, commands: own }) => `    ${name}) options='${nameList(options)}' own='${nameList(own)}' ;;`,
  );
  const valued = commands.flatMap(({ name, options }) =>
    options.flatMap((option) => {
      const reply = bashReply(option);
      return reply === null ? [] : [`    '${name} ${option.name}') ${reply}; return ;;`];
    }),
  );
  return [
    '# perdure completions bash, to be sourced',
    '_perdure() {',
    '  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command= options= own= each',
    '  for each in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
    '    case $each in -*) ;; *) command=$each; break ;; esac',
    '  done',
    `  if [ -z "$command" ]; then COMPREPLY=($(compgen -W '${nameList(commands)} --help --version' -- "$word")); return; fi`,
    '  case "$command $before" in',
    ...valued,
    '  esac',
    '  case $command in',
    ...cases,
    '  esac',
    '  case $word in -*) COMPREPLY=($(compgen -W "$options --help" -- "$word")) ;; *) COMPREPLY=($(compgen -W "$own" -- "$word") $(compgen -f -- "$word")) ;; esac',
    '}',
    'complete -o filenames -F _perdure perdure',
    '',
  ].join('\n');
}

function bashReply({ takes, values }: CompletedCommand['options'][number]): string | null {
  if (values.length > 0) return `COMPREPLY=($(compgen -W '${values.join(' ')}' -- "$word"))`;
  if (takes === 'nothing') return null;
  return `COMPREPLY=(${takes === 'text' ? '' : `$(compgen -${takes === 'file' ? 'f' : 'd'} -- "$word")`})`;
}

const zshQuoted = (text: string): string => text.replaceAll("'", "'\\''").replaceAll(/[[\]:\\]/g, String.raw`\$&`);

function zshScript(commands: readonly CompletedCommand[]): string {
  const named = commands.map(({ name, about }) => `    '${name}:${zshQuoted(about)}'`);
  const cases = commands.map(({ name, options, commands: own }) => {
    const specs = options.map((option) => `'*${option.name}[${zshQuoted(option.about)}]${zshValue(option)}'`);
    return `    ${name}) _arguments ${[...specs, own.length > 0 ? `'1:command:(${nameList(own)})'` : "'*:file:_files'"].join(' ')} ;;`;
  });
  return [
    '#compdef perdure',
    '_perdure() {',
    '  local -a commands',
    '  commands=(',
    ...named,
    '  )',
    '  if (( CURRENT == 2 )); then _describe command commands; return; fi',
    '  local command=$words[2]',
    '  shift words; (( CURRENT-- ))',
    '  case $command in',
    ...cases,
    '  esac',
    '}',
    // Works when sourced, and from a folder of fpath.
    'if [ "$funcstack[1]" = _perdure ]; then _perdure "$@"; else compdef _perdure perdure; fi',
    '',
  ].join('\n');
}

function zshValue({ takes, values }: CompletedCommand['options'][number]): string {
  if (values.length > 0) return `:value:(${values.join(' ')})`;
  return takes === 'nothing'
    ? ''
    : takes === 'text'
      ? ':value:'
      : takes === 'file'
        ? ':file:_files'
        : ':folder:_files -/';
}

const fishQuoted = (text: string): string =>
  `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`;

function fishScript(commands: readonly CompletedCommand[]): string {
  const first = commands.map(
    ({ name, about }) => `complete -c perdure -n __fish_use_subcommand -f -a ${name} -d ${fishQuoted(about)}`,
  );
  const options = commands.flatMap(({ name, options: all }) =>
    all.map(({ name: flag, about, takes, values }) => {
      const spelt = flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`;
      const value =
        values.length > 0
          ? ` -x -a ${fishQuoted(values.join(' '))}`
          : takes === 'nothing'
            ? ''
            : takes === 'text'
              ? ' -x'
              : ' -r';
      return `complete -c perdure -n '__fish_seen_subcommand_from ${name}' ${spelt}${value} -d ${fishQuoted(about)}`;
    }),
  );
  const own = commands.flatMap(({ name, commands: all }) =>
    all.map(
      (each) =>
        `complete -c perdure -n '__fish_seen_subcommand_from ${name}' -f -a ${each.name} -d ${fishQuoted(each.about)}`,
    ),
  );
  return ['# perdure completions fish | source', ...first, ...own, ...options, ''].join('\n');
}
