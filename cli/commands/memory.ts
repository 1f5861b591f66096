// perdure memory: lists, shows, edits and removes the notes that runs in this folder read and add
// to (L80).
import { existsSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { Argument, type Command } from 'commander';
import {
  finishMerge,
  REPLACED_NOTES,
  isNoteName,
  MOST_NOTES,
  NOTE_BYTES,
  notesFolder,
  readNotes,
  removeNote,
  replaceNote,
} from '../../client/faces/store-care.ts';
import type { Note } from '../../client/faces/types.ts';
import { formatCount } from '../../client/faces/basics.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { showUnseen } from '../../system/text.ts';
import type { Cli } from '../cli.ts';
import { STATUS, UsageError } from '../errors.ts';
import { parseWorkspace } from '../run-options.ts';
import { createPersonsEditor } from '../typing/persons-editor.ts';

type Flags = { readonly cwd?: string };
type Action = 'list' | 'show' | 'edit' | 'forget';
type Place = { readonly folder: string; readonly notes: readonly Note[] };

const HELP = `
  list           names and first lines (the default)
  show NAME…     whole notes; all of them without a name
  edit NAME      in $VISUAL or $EDITOR; a name that is not there begins a note
  forget NAME…   removes them

Notes are markdown files in Perdure's data folder on this machine, at most ${MOST_NOTES} of ${NOTE_BYTES / 1024} KB each for a workspace.
When there are many, the small model merges those of runs into fewer; what they were before lies in the folder \`old\` beside them.`;

export function memoryCommand(program: Command, cli: Cli): void {
  const actions: readonly Action[] = ['list', 'show', 'edit', 'forget'];
  program
    .command('memory')
    .description('list, show, edit or forget the notes that sessions in this folder have made')
    .addArgument(new Argument('[action]', 'what to do').choices(actions).default('list'))
    .argument('[names...]', 'the notes, as `list` names them; the end .md may be left out')
    .option('--cwd <dir>', 'the workspace (default: the current folder)')
    .addHelpText('after', HELP)
    .action(async (action: Action, names: readonly string[], flags: Flags) =>
      cli.exit(await runAction(cli, action, names.map(asFile), flags)),
    );
}

async function runAction(cli: Cli, action: Action, names: readonly string[], { cwd = '.' }: Flags): Promise<number> {
  const folder = notesFolder(openDataFolder(cli.env).root, realpathSync(parseWorkspace(cwd, cli.cwd())));
  if (action === 'edit' || action === 'forget') await finishMerge(folder);
  const place: Place = { folder, notes: await readNotes(folder) };
  if (action === 'edit') return editNote(cli, place, names);
  if (action === 'forget') return forgetNotes(cli, place, names);
  const { notes } = place;
  const chosen = names.length === 0 ? notes : names.map((name) => noteNamed(place, name));
  const textOf = ({ name, title, text }: Note): string =>
    action === 'list' ? `${name}: ${title}` : `=== ${name} ===\n${text}\n`;
  for (const note of chosen) cli.print(`${showUnseen(textOf(note))}\n`);
  if (notes.length === 0) cli.say('no notes of this workspace');
  return STATUS.ok;
}

async function editNote(cli: Cli, { folder, notes }: Place, names: readonly string[]): Promise<number> {
  const [name, another] = names;
  if (name === undefined || another !== undefined) throw new UsageError('name one note: `perdure memory edit NAME`');
  if (!isNoteName(name))
    throw new UsageError(`${JSON.stringify(name)} is not a valid note name: use letters, digits, - and _`);
  const before = notes.find((note) => note.name === name)?.text ?? '';
  const after = await createPersonsEditor(cli.env, cli.say)(before === '' ? '' : `${before}\n`);
  if (after === null) return STATUS.failed;
  if (after.trim() === '') throw new UsageError(`a note can't be empty: \`perdure memory forget ${name}\` removes it`);
  if (after.trim() === before) return (cli.say(`${name} is unchanged`), STATUS.ok);
  if (Buffer.byteLength(after) > NOTE_BYTES)
    throw new UsageError(
      `the note has ${Buffer.byteLength(after)} bytes, and ${NOTE_BYTES} are allowed: nothing was changed`,
    );
  if (before === '' && notes.length >= MOST_NOTES)
    throw new UsageError(`this workspace has ${MOST_NOTES} notes already: forget some first`);
  await replaceNote(folder, name, after);
  cli.say(`${name} is kept`);
  return STATUS.ok;
}

async function forgetNotes(cli: Cli, place: Place, names: readonly string[]): Promise<number> {
  if (names.length === 0) throw new UsageError('name the notes to forget, as `perdure memory list` does');
  const found = names.map((name) => noteNamed(place, name));
  for (const { name } of found) await removeNote(place.folder, name);
  cli.say(`${formatCount(found.length, 'note')} forgotten`);
  const old = join(place.folder, REPLACED_NOTES);
  if (existsSync(old))
    cli.say(`notes as they were before they were merged are kept in ${old}: remove what they say there, too`);
  return STATUS.ok;
}

function noteNamed({ notes }: Place, name: string): Note {
  const note = notes.find((each) => each.name === name);
  if (!note)
    throw new UsageError(`there is no note ${JSON.stringify(name)} of this workspace: see \`perdure memory list\``);
  return note;
}

const asFile = (name: string): string => (name.endsWith('.md') ? name : `${name}.md`);
