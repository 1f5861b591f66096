// perdure memory: notes of a folder, listed, read, edited and forgotten by a person (L80).
import { chmodSync, existsSync, readdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { mergeNotes } from '../../activities/memory/merge-notes.ts';
import { addNote, notesFolder, readNotes } from '../../activities/memory/notes.ts';
import { mainHere } from '../support/cli-here.ts';
import { tempDir } from '../support/temp-dir.ts';

async function place() {
  const cwd = realpathSync(tempDir());
  const data = join(tempDir(), 'data');
  const editor = join(tempDir(), 'editor');
  writeFileSync(editor, '#!/bin/sh\nprintf "%s" "$TEXT" > "$1"\nprintf "%s" "$1" > "$0.file"\n');
  chmodSync(editor, 0o700);
  const run = (args: readonly string[], text = '') =>
    mainHere(['memory', ...args], {
      cwd: () => cwd,
      env: { PATH: process.env['PATH'], HOME: tempDir(), PERDURE_DATA: data, EDITOR: editor, TEXT: text },
    });
  await run([]);
  const folder = notesFolder(data, cwd);
  await addNote(folder, 's-1-1-aaaaaa.md', '# Tests\n- make t\u001b[1m');
  return { run, folder, data, edited: () => readFileSync(`${editor}.file`, 'utf8') };
}

test('lists notes with their first lines and shows them whole, without what a terminal would obey (L80)', async () => {
  const { run } = await place();
  expect(await run([])).toMatchObject({ status: 0, out: 's-1-1-aaaaaa.md: Tests\n' });
  const { out } = await run(['show', 's-1-1-aaaaaa']);
  expect(out).toContain('=== s-1-1-aaaaaa.md ===\n# Tests\n- make t');
  expect(out).not.toContain('\u001b');
});

test('a text is edited where no command of an agent sees it, and is gone from there afterwards (L55 L80)', async () => {
  const { run, data, edited } = await place();
  expect(await run(['edit', 'own'], 'Own')).toMatchObject({ status: 0 });
  expect(edited().startsWith(join(data, 'edit-'))).toBe(true);
  expect(readdirSync(data).filter((name) => name.startsWith('edit-'))).toEqual([]);
});

test('an edited note and a new one are kept, a forgotten one is gone (L80)', async () => {
  const { run, folder } = await place();
  expect(await run(['edit', 's-1-1-aaaaaa'], 'Mine')).toMatchObject({ status: 0 });
  expect(await run(['edit', 'own'], 'Own')).toMatchObject({ status: 0 });
  expect(await run(['list'])).toMatchObject({ out: 'own.md: Own\ns-1-1-aaaaaa.md: Mine\n' });
  expect(await run(['forget', 'own'])).toMatchObject({ status: 0 });
  expect(existsSync(join(folder, 'own.md'))).toBe(false);
});

test('who forgets a note is told where those lie that were merged (L80)', async () => {
  const { run, folder } = await place();
  expect((await run(['forget', 's-1-1-aaaaaa'])).err).not.toContain('merged');
  await addNote(folder, 's-2-1-bbbbbb.md', 'Old');
  await mergeNotes(folder, { id: 'x', merged: [{ name: 'new.md', text: 'New' }], replaced: await readNotes(folder) });
  expect(await run(['list'])).toMatchObject({ out: 'new.md: New\n' });
  expect((await run(['forget', 'new'])).err).toContain(
    `are kept in ${join(folder, 'old')}: remove what they say there`,
  );
});

test.each([
  [['show', 'none'], '', 'there is no note "none.md" of this workspace'],
  [['edit', '../x'], 'x', 'is not a valid note name'],
  [['edit', 'own'], 'x'.repeat(9_000), '9000 bytes'],
  [['edit', 'own'], ' ', "a note can't be empty"],
  [['forget'], '', 'name the notes to forget'],
  [['burn'], '', 'Allowed choices are'],
])('%j is refused with what would be right (L80)', async (args, text, says) => {
  const { run } = await place();
  const { status, err } = await run(args, text);
  expect(status).toBe(2);
  expect(err).toContain(says);
});
