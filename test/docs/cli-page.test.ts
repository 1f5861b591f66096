// docs/api/cli.md and the list of commands in docs/cli.md are made here from the program's own
// help: `npx vitest run --project fast test/docs -u` rewrites both.
import type { Command } from 'commander';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cliOf } from '../../cli/cli.ts';
import { STATUS } from '../../cli/errors.ts';
import { createProgram } from '../../cli/program.ts';
import { addRunOptions } from '../../cli/run-options.ts';
import { TOPS } from './house-report.mjs';

const root = resolve(import.meta.dirname, '../..');
const page = readFileSync(join(root, 'docs/cli.md'), 'utf8');
const made = /(?<=<!-- made from the help -->\n)[\s\S]*(?=<!-- end -->)/;

const program = await createProgram(cliOf(process, { verbose: false, exit: () => undefined }));

const listed = program.commands.filter((command) => command.name() !== 'start-here');

/** A command that only has commands of its own is replaced by these. */
const commandsOf = (command: Command): readonly Command[] =>
  command.commands.length > 0 ? command.commands : [command];

/** Of a command of another's: both. */
const nameOf = (command: Command): string =>
  command.parent?.parent ? `${command.parent.name()} ${command.name()}` : command.name();

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const cell = (text: string): string => text.replaceAll('|', String.raw`\|`);

type Row = readonly [name: string, meaning: string];

function table(heads: Row, rows: readonly Row[]): string {
  if (rows.length === 0) return '';
  const lines = rows.map(([name, said]) => `| \`${cell(name)}\` | ${cell(said)} |`);
  return `\n| ${heads.join(' | ')} |\n|---|---|\n${lines.join('\n')}\n`;
}

type Given = Pick<Command['options'][number], 'flags' | 'description' | 'defaultValue' | 'mandatory'>;

function meaning({ description, defaultValue, mandatory }: Given): string {
  const shown = ['number', 'string'].includes(typeof defaultValue) && !description.includes('default');
  return `${description}${mandatory ? ' (required)' : ''}${shown ? ` (default: ${String(defaultValue)})` : ''}`;
}

const HEAD = `# Commands

Each command of \`perdure\`, as its \`--help\` describes it; [the command line](../cli.md) says how they behave. Every command also takes \`--verbose\` and \`--plain\`.
`;
const MADE = 'Made by `test/docs/cli-page.test.ts` from the help.';

/** In every command alike: told once, above them. */
const common = new Set(['--verbose', '--plain']);

function section(command: Command, shared: ReadonlySet<string>): string {
  const own = command.options.filter(({ flags, long }) => !shared.has(flags) && !common.has(long ?? ''));
  const takesShared = own.length < command.options.filter(({ long }) => !common.has(long ?? '')).length;
  const args = command.registeredArguments.map((argument): Row => [argument.name(), argument.description]);
  return [
    `## ${nameOf(command)}\n`,
    `\`perdure ${nameOf(command)} ${command.usage()}\`\n`,
    `${capitalised(command.description())}.\n`,
    table(['argument', 'meaning'], args).slice(1),
    table(
      ['option', 'meaning'],
      own.map((option): Row => [option.flags, meaning(option)]),
    ).slice(1),
    takesShared ? 'It also takes the [options of a run](#options-of-a-run).\n' : '',
  ]
    .filter((part) => part !== '')
    .join('\n');
}

function reference(): string {
  const options = addRunOptions(program.createCommand('run')).options;
  const shared = new Set(options.map(({ flags }) => flags));
  const rows = options.map((option): Row => [option.flags, meaning(option)]);
  const ofRun = `## Options of a run\n\n\`run\`, \`start\` and \`schedule create\` take these, and \`schedule update\` all but \`--session\`.\n${table(['option', 'meaning'], rows)}`;
  const sections = listed.flatMap(commandsOf).map((command) => section(command, shared));
  return `${[HEAD, ...sections, ofRun].join('\n')}\n${MADE}\n`;
}

const anchorOf = (command: Command): string => nameOf(commandsOf(command)[0] ?? command).replaceAll(' ', '-');

/** The names of a group of the help, each with a link to its section. */
function overview(): string {
  const groups = [...new Set(listed.map((command) => command.helpGroup()))];
  const rows = groups.map((group) => {
    const members = listed.filter((command) => command.helpGroup() === group);
    const links = members.map((command) => `[\`${command.name()}\`](api/cli.md#${anchorOf(command)})`);
    return `| ${group.replace(':', '').toLowerCase()} | ${links.join(' ')} |`;
  });
  return `| to | commands |\n|---|---|\n${rows.join('\n')}\n`;
}

/**
 * Folders whose code reads no settings from the environment: it is given them. What they name are
 * variables of programs they start.
 */
const GIVEN_THEIR_SETTINGS = ['activities', 'store', 'system', 'tools', 'workflows'];

/** Variables that the program itself reads, wherever a source names one. */
function variables(): readonly string[] {
  const found = new Set<string>();
  for (const folder of TOPS.filter((top) => !GIVEN_THEIR_SETTINGS.includes(top))) {
    const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
    for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
      const source = readFileSync(join(root, folder, file), 'utf8');
      for (const [name] of source.matchAll(/\b(?:PERDURE|ANTHROPIC|TEMPORAL|XDG)_[A-Z_]*[A-Z]\b|\bNO_COLOR\b/g))
        found.add(name);
    }
  }
  return [...found].toSorted();
}

test('docs/api/cli.md says of each command what its help says', async () => {
  await expect(reference()).toMatchFileSnapshot('../../docs/api/cli.md');
});

describe('docs/cli.md', () => {
  test('lists every command, by the groups of the help', async () => {
    expect(page).toMatch(made);
    await expect(page.replace(made, () => overview())).toMatchFileSnapshot('../../docs/cli.md');
  });

  test('names each exit status of the program', () => {
    const [, said = ''] = /## Exit status\n([\s\S]*?)\n## /.exec(page) ?? [];
    const named = [...said.matchAll(/^\| (\d+) \|/gm)].map(([, status]) => Number(status));
    expect(named).toEqual(expect.arrayContaining(Object.values(STATUS)));
  });

  test('names each variable that the program reads, and no other', () => {
    const [, said = ''] = /## Environment\n([\s\S]*?)\n## /.exec(page) ?? [];
    const named = [...said.matchAll(/`([A-Z][A-Z_]+)`(?=[^\n]*\|[^\n]*\|)/g)].map(([, name = '']) => name);
    expect([...new Set(named)].toSorted()).toEqual(variables());
  });
});
