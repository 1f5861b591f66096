// Notes as files: a run's own name, never written twice, bounded, and readable by people (L80).
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  addNote,
  isNoteName,
  MOST_NOTES,
  NOTE_BYTES,
  noteName,
  notesFolder,
  readNotes,
  replaceNote,
} from '../../../activities/memory/notes.ts';
import { tempDir } from '../../support/temp-dir.ts';

const run = { session: 's-4k2', chain: 'chain', run: 3 };

test('the note of a run has the same name in each attempt, and another one where the session’s id was there before (L80)', () => {
  expect(noteName(run)).toMatch(/^s-4k2-3-[0-9a-f]{6}\.md$/);
  expect(noteName({ ...run })).toBe(noteName(run));
  expect(noteName({ ...run, chain: 'later' })).not.toBe(noteName(run));
  const odd = noteName({ ...run, session: `../${'ä'.repeat(200)}` });
  expect(isNoteName(odd)).toBe(true);
  expect(odd).not.toContain('/');
});

test('workspaces whose names read alike have folders of their own (L80)', () => {
  expect(notesFolder('/d', '/a/web')).toMatch(/^\/d\/memory\/web-[0-9a-f]{12}$/);
  expect(notesFolder('/d', '/a/web')).not.toBe(notesFolder('/d', '/b/web'));
  expect(notesFolder('/d', '/')).toMatch(/^\/d\/memory\/_-/);
});

test('a note that is there stays as a person left it, and drafts of dead attempts go (L80)', async () => {
  const folder = join(tempDir(), 'memory');
  expect(await addNote(folder, 'a.md', '# One\n')).toBe(true);
  writeFileSync(join(folder, 'a.md'), 'edited');
  writeFileSync(join(folder, '.a.md.dead'), 'ha');
  expect(await addNote(folder, 'a.md', '# Two\n')).toBe(false);
  expect(readdirSync(folder)).toEqual(['a.md']);
  expect(await readNotes(folder)).toEqual([{ name: 'a.md', title: 'edited', text: 'edited' }]);
  await replaceNote(folder, 'a.md', 'again');
  expect(readFileSync(join(folder, 'a.md'), 'utf8')).toBe('again\n');
});

test('notes are bounded in number and size, and other files are none (L80)', async () => {
  const folder = join(tempDir(), 'memory');
  expect(await readNotes(folder)).toEqual([]);
  mkdirSync(folder);
  await addNote(folder, '0.md', 'ä'.repeat(NOTE_BYTES));
  expect(readFileSync(join(folder, '0.md')).byteLength).toBeLessThanOrEqual(NOTE_BYTES);
  writeFileSync(join(folder, '00.md'), 'x'.repeat(2 * NOTE_BYTES));
  writeFileSync(join(folder, 'notes.txt'), 'none');
  const [first, second, ...none] = await readNotes(folder);
  expect([first?.text.at(-1), second?.text.length, none]).toEqual(['ä', NOTE_BYTES, []]);
  for (let n = 0; n < MOST_NOTES; n += 1) writeFileSync(join(folder, `n${n}.md`), 'x');
  expect(await readNotes(folder)).toHaveLength(MOST_NOTES);
});
