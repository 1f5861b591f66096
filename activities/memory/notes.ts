// Notes of a workspace: markdown files in Perdure's data folder, which people read, edit and remove
// (L80). A run adds one file under a name of its own and never writes to an existing one; a merge
// puts new ones in the place of several. No tool reaches the folder.
import { createHash, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, link, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, wellFormedText } from '../../system/text.ts';

/** `title` is the first line, without the marks of a heading. */
export type Note = { readonly name: string; readonly title: string; readonly text: string };

export const MOST_NOTES = 200;
/** Bytes of one note: the rest of a larger file is not read. */
export const NOTE_BYTES = 8 * 1024;

const NAME = /^[A-Za-z0-9_][\w.-]{0,120}\.md$/;
const TITLE = 100;

/** Returns the folder of a workspace's notes. `cwd` is the absolute real path of the workspace. */
export function notesFolder(dataDir: string, cwd: string): string {
  return join(dataDir, 'memory', `${toReadable(basename(cwd), 40)}-${hashName(cwd)}`);
}

/**
 * Names the note of a run: always the same for one run, and another when the id of its session was
 * used before (`chain`).
 */
export function noteName({ session, chain, run }: { session: string; chain: string; run: number }): string {
  return `${toReadable(session, 60)}-${run}-${hashName(`${session} ${chain}`).slice(0, 6)}.md`;
}

export const isNoteName = (name: string): boolean => NAME.test(name);

/** Tells whether a run, or a merge, made the note; another name is a person's. */
export const isOfRun = (name: string): boolean => /-\d+-[0-9a-f]{6}\.md$/.test(name) && isNoteName(name);
export const isMerged = (name: string): boolean => /^merged-\d{4}-\d\d-\d\d-[0-9a-f]{6}-\d+\.md$/.test(name);

/** The number of times that a folder is read again when files were moved meanwhile. */
const TRIES = 5;

/**
 * Reads at most `MOST_NOTES` notes, sorted by name; empty without a folder. Throws what the file
 * system throws.
 */
export async function readNotes(folder: string): Promise<readonly Note[]> {
  for (let left = TRIES; ; left -= 1) {
    const { notes, isWhole } = await readOnce(folder);
    if (isWhole || left === 0) return notes;
  }
}

/**
 * Reads the names first, then the merge, then the notes: a note that a merge moves in between is
 * found in its old or new place, or is missed.
 */
async function readOnce(folder: string): Promise<{ readonly notes: readonly Note[]; readonly isWhole: boolean }> {
  const names = (await listNames(folder)).filter(isNoteName);
  const { made: added, replaced }: Pick<Merge, 'made' | 'replaced'> = (await readMerge(folder)) ?? {
    made: [],
    replaced: {},
  };
  const most = MOST_NOTES + Object.keys(replaced).length;
  const all = [...new Set([...names, ...added])].toSorted().slice(0, most);
  const found = await Promise.all(
    all.map(async (name) => {
      const isMade = added.includes(name);
      const note =
        (isMade ? await readNote(join(folder, MERGE, NEW_NOTES), name) : null) ?? (await readNote(folder, name));
      return { note, isMissing: note === null && !isMade };
    }),
  );
  const notes = found
    .flatMap(({ note }) => note ?? [])
    .filter(({ name, text }) => !Object.hasOwn(replaced, name) || replaced[name] !== hashText(text));
  return { notes: notes.slice(0, MOST_NOTES), isWhole: !found.some(({ isMissing }) => isMissing) };
}

/** Lists a folder; empty where it does not exist. */
async function listNames(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
}

/** Reads one note; null when it does not exist. */
export async function readNote(folder: string, name: string): Promise<Note | null> {
  try {
    const file = await open(join(folder, name));
    try {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(NOTE_BYTES), 0, NOTE_BYTES, 0);
      // A character that the limit has cut is left out.
      const text = new TextDecoder().decode(buffer.subarray(0, bytesRead), { stream: true }).trim();
      const title = (text.split('\n')[0] ?? '').replace(/^#+\s*/, '').slice(0, TITLE);
      return { name, title: wellFormedText(title) || '(empty)', text };
    } finally {
      await file.close();
    }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Tells whether a note of that name exists, or existed before a merge. */
export async function hasNote(folder: string, name: string): Promise<boolean> {
  const merges = await listNames(join(folder, REPLACED_NOTES));
  const places = ['.', MERGE, ...merges.map((merge) => join(REPLACED_NOTES, merge))];
  return places.some((place) => existsSync(join(folder, place, name)));
}

/**
 * Adds a note, whole or not at all, and durably. Returns false when a note of that name exists,
 * which stays as it is.
 */
export async function addNote(folder: string, name: string, text: string): Promise<boolean> {
  return placeNote(folder, { name, text, place: link });
}

/** Writes a note as a person left it. */
export async function replaceNote(folder: string, name: string, text: string): Promise<void> {
  await placeNote(folder, { name, text, place: rename });
}

/** Removes a note. Nothing happens when it does not exist. */
export async function removeNote(folder: string, name: string): Promise<void> {
  await rm(join(folder, name), { force: true });
}

type NotePlacing = {
  readonly name: string;
  readonly text: string;
  readonly place: (draft: string, path: string) => Promise<void>;
};

async function placeNote(folder: string, { name, text, place }: NotePlacing): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // These drafts are of attempts that died.
  const left = (await readdir(folder)).filter((each) => each.startsWith(`.${name}.`));
  await Promise.all(left.map((each) => rm(join(folder, each), { force: true })));
  const draft = join(folder, `.${name}.${randomUUID()}`);
  try {
    await writeNote(draft, text);
    await place(draft, join(folder, name));
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
  await writeDurably(await open(folder));
  return true;
}

/** Writes a new file. */
export async function writeNote(path: string, text: string): Promise<void> {
  await writeDurably(await open(path, 'wx', 0o600), fitNote(text));
}

/** Writes a text durably, and closes the file in any case. */
export async function writeDurably(file: FileHandle, text = ''): Promise<void> {
  try {
    if (text !== '') await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Cuts a note to `NOTE_BYTES`. */
function fitNote(text: string): string {
  const whole = `${wellFormedText(text).trim()}\n`;
  const bytes = Buffer.from(whole);
  if (bytes.length <= NOTE_BYTES) return whole;
  return `${new TextDecoder().decode(bytes.subarray(0, NOTE_BYTES - 1), { stream: true })}\n`;
}

const hashName = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** Keeps of a text what a path may hold and a person can read. */
function toReadable(text: string, most: number): string {
  return text.replaceAll(/[^\w-]+/g, '_').slice(0, most) || '_';
}

/** Quotes a note that stands among others, so that only our own lists begin a line with `===`. */
export function quoteNote(text: string): string {
  return text.replaceAll(/^(?=[ \t]*=== )/gm, '> ');
}

// A merge of notes until the files are in place (L80): the folder `.merge`, which appears whole,
// has the new notes and says which ones they replace. From then on the new ones count, and the
// replaced ones do not.
export const MERGE = '.merge';
/** The folder of the new notes in it. The replaced ones lie next to that folder. */
export const NEW_NOTES = 'new';
export const RECORD = 'merge.json';
/** The folder of finished merges, each with the notes that it replaced. */
export const REPLACED_NOTES = 'old';

/**
 * `replaced` has the fingerprint of each note, by name. A note that reads otherwise by now was
 * edited, and stays.
 */
export type Merge = {
  readonly id: string;
  readonly made: readonly string[];
  readonly replaced: Readonly<Record<string, string>>;
};

export function hashText(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Reads the merge that is under way, or null. Throws what the file system throws. */
export async function readMerge(folder: string): Promise<Merge | null> {
  const path = join(folder, MERGE);
  try {
    const merge = JSON.parse(await readFile(join(path, RECORD), 'utf8')) as Merge;
    const names = [merge.id, ...merge.made, ...Object.keys(merge.replaced)];
    if (names.every((name) => basename(name) === name && !name.startsWith('.'))) return merge;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    if (codeOf(error) !== undefined) throw error;
  }
  throw new Error(`${path} is no merge of notes: move that folder away`);
}
