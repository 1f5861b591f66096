// Notes of a workspace: markdown files in Perdure's data folder, which people read, edit and remove
// (L80). A run adds one file under a name of its own and never writes to one that is there; a merge
// puts new ones in the place of several. No tool reaches the folder.
import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, link, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { codeOf, wellFormedText } from '../../system/text.ts';
import { fingerprint, MERGE, type Merge, NEW, OLD, readMerge } from './pending-merge.ts';

/** `title`: its first line, without the marks of a heading. */
export type Note = { readonly name: string; readonly title: string; readonly text: string };

export const MOST_NOTES = 200;
/** Bytes of one: what a file has beyond them is not read. */
export const NOTE_BYTES = 8 * 1024;

const NAME = /^[A-Za-z0-9_][\w.-]{0,120}\.md$/;
const TITLE = 100;

/** `cwd`: the absolute real path of the workspace. */
export function notesFolder(dataDir: string, cwd: string): string {
  return join(dataDir, 'memory', `${readable(basename(cwd), 40)}-${hash(cwd)}`);
}

/** Of the same run always the same, also when the id of its session was there before (`chain`). */
export function noteName({ session, chain, run }: { session: string; chain: string; run: number }): string {
  return `${readable(session, 60)}-${run}-${hash(`${session} ${chain}`).slice(0, 6)}.md`;
}

export const isNoteName = (name: string): boolean => NAME.test(name);

/** Of a run, and of a merge; another name is a person's. */
export const isOfRun = (name: string): boolean => /-\d+-[0-9a-f]{6}\.md$/.test(name) && isNoteName(name);
export const isMerged = (name: string): boolean => /^merged-\d{4}-\d\d-\d\d-[0-9a-f]{6}-\d+\.md$/.test(name);

/** How often a folder is read anew in which files were moved meanwhile. */
const TRIES = 5;

/**
 * Sorted by name; at most `MOST_NOTES`. Empty without a folder. Throws what the file system throws.
 */
export async function readNotes(folder: string): Promise<readonly Note[]> {
  for (let left = TRIES; ; left -= 1) {
    const { notes, isWhole } = await readOnce(folder);
    if (isWhole || left === 0) return notes;
  }
}

/**
 * The names first, then the merge, then the notes: what a merge moves in between is found where it
 * was or where it is, or is missed.
 */
async function readOnce(folder: string): Promise<{ readonly notes: readonly Note[]; readonly isWhole: boolean }> {
  const names = (await namesIn(folder)).filter(isNoteName);
  const { made, replaced }: Pick<Merge, 'made' | 'replaced'> = (await readMerge(folder)) ?? { made: [], replaced: {} };
  const most = MOST_NOTES + Object.keys(replaced).length;
  const all = [...new Set([...names, ...made])].toSorted().slice(0, most);
  const found = await Promise.all(
    all.map(async (name) => {
      const isMade = made.includes(name);
      const note = (isMade ? await readNote(join(folder, MERGE, NEW), name) : null) ?? (await readNote(folder, name));
      return { note, isMissing: note === null && !isMade };
    }),
  );
  const notes = found
    .flatMap(({ note }) => note ?? [])
    .filter(({ name, text }) => !Object.hasOwn(replaced, name) || replaced[name] !== fingerprint(text));
  return { notes: notes.slice(0, MOST_NOTES), isWhole: !found.some(({ isMissing }) => isMissing) };
}

/** Empty where there is no such folder. */
async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch((error: unknown) => {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  });
}

/** Null when it is not there. */
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

/** There is one of that name, or was one before a merge. */
export async function hasNote(folder: string, name: string): Promise<boolean> {
  const merges = await namesIn(join(folder, OLD));
  const places = ['.', MERGE, ...merges.map((merge) => join(OLD, merge))];
  const looked = await Promise.all(places.map((place) => isThere(join(folder, place, name))));
  return looked.includes(true);
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Whole or not at all, and durable. False when one of that name is there, which stays as it is. */
export async function addNote(folder: string, name: string, text: string): Promise<boolean> {
  return placeNote(folder, { name, text, place: link });
}

/** As a person left it. */
export async function replaceNote(folder: string, name: string, text: string): Promise<void> {
  await placeNote(folder, { name, text, place: rename });
}

/** Nothing happens when it is not there. */
export async function removeNote(folder: string, name: string): Promise<void> {
  await rm(join(folder, name), { force: true });
}

type Placing = {
  readonly name: string;
  readonly text: string;
  readonly place: (draft: string, path: string) => Promise<void>;
};

async function placeNote(folder: string, { name, text, place }: Placing): Promise<boolean> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  // Those of attempts that died.
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
  await flushed(await open(folder));
  return true;
}

/** A new file. */
export async function writeNote(path: string, text: string): Promise<void> {
  await flushed(await open(path, 'wx', 0o600), fitNote(text));
}

/** Durable, and closed in any case. */
export async function flushed(file: FileHandle, text = ''): Promise<void> {
  try {
    if (text !== '') await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** At most `NOTE_BYTES`. */
function fitNote(text: string): string {
  const whole = `${wellFormedText(text).trim()}\n`;
  const bytes = Buffer.from(whole);
  if (bytes.length <= NOTE_BYTES) return whole;
  return `${new TextDecoder().decode(bytes.subarray(0, NOTE_BYTES - 1), { stream: true })}\n`;
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);

/** What a path may hold, and a person can read. */
function readable(text: string, most: number): string {
  return text.replaceAll(/[^\w-]+/g, '_').slice(0, most) || '_';
}
