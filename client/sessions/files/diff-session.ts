// Compares an agent's folders at two points of its session (T11).
import { isUtf8 } from 'node:buffer';
import { isAbsolute, relative, resolve } from 'node:path';
import {
  hasSnapshot,
  type HeldFile,
  listChanges,
  listHeldPairs,
  makePatch,
  type Pair,
  type PatchSection,
  type ShadowReading,
  splitPatch,
  type HeldPair,
} from '../../../store/snapshots/compare.ts';
import { type ChangeKind, type RawPath, showPath } from '../../../store/snapshots/listing.ts';
import {
  findPosition,
  firstSnapshots,
  lastSnapshots,
  parsePoint,
  type SnapshotsAt,
  snapshotsAt,
  type TranscriptStretch,
  withMovedRoots,
} from '../../../store/snapshots/snapshot-points.ts';
import { fetchPacks } from '../../../store/snapshots/packs.ts';
import { describeUnchanged, findUncaptured, type Uncaptured } from '../../../store/snapshots/uncaptured.ts';
import type { Store } from '../../../store/values/store.ts';
import { isInside } from '../../../system/process/places.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import type { Abortable } from '../../async.ts';
import { ClientProblem } from '../../problem.ts';
import { MOST_PRINTED, TooLarge } from './read-shadow.ts';
import { readBlobs } from '../../../store/snapshots/read-blobs.ts';
import { deflateSync } from 'node:zlib';

/**
 * Options of `diff()`. Points are positions of entries (`412`) or `RUN.ITERATION` (`2.17`). Absent:
 * from the first snapshot to the last one. `paths` are absolute, or relative to the session's
 * folder; absent: all.
 */
export type DiffOptions = Abortable & {
  readonly from?: string | number;
  readonly to?: string | number;
  readonly paths?: readonly string[];
  /** Leaves the patch out. */
  readonly stat?: boolean;
  /**
   * From the folders that this machine was left with when the session moved to another host (T19),
   * in place of `from`.
   */
  readonly lost?: boolean;
};

export type ChangedFile = {
  /** The folder of the session in which it lies. */
  readonly root: string;
  /** Relative to `root`; bytes that are no UTF-8 as `\xNN`. */
  readonly path: string;
  readonly kind: ChangeKind;
  /** Lines; null for a file that is not text. */
  readonly insertions: number | null;
  readonly deletions: number | null;
};

export type SessionDiff = {
  readonly files: readonly ChangedFile[];
  /**
   * The output of `git diff`, with paths relative to the session's folder, and absolute ones for
   * its other folders; a file whose text or name isn't UTF-8 is a binary patch, in ASCII. Null
   * unless requested, and for more than 64 MB.
   */
  readonly patch: string | null;
  /** Files that have not changed as far as is known, and are in no patch; absent without any. */
  readonly uncaptured?: readonly UncapturedFile[];
};

/** A file that is no longer captured, or was not captured before. */
export type UncapturedFile = {
  readonly root: string;
  readonly path: string;
  /** Says which, and why, as in `no longer captured (it was too large)`. */
  readonly why: string;
};

type DiffPorts = {
  readonly session: SessionId;
  readonly cwd: string;
  readonly reading: ShadowReading;
  /** Has what other hosts have captured. */
  readonly store?: Pick<Store, 'get'>;
  /** Where `lost` begins; null: nothing was left here. */
  readonly lost?: SnapshotsAt | null;
};

/** Throws ClientProblem. */
export async function diffSession(
  ports: DiffPorts,
  stretch: TranscriptStretch,
  options: DiffOptions,
): Promise<SessionDiff> {
  const files: ChangedFile[] = [];
  const uncaptured: UncapturedFile[] = [];
  let patch: string | null = options.stat === true ? null : '';
  for (const { root, ...pair } of await findPairs(ports, stretch, options)) {
    const changes = await listChanges(ports.reading, pair);
    const left = await findUncaptured(ports.reading, pair, changes);
    for (const [path, found] of left) uncaptured.push({ root, path: showPath(path), why: describeUnchanged(found) });
    for (const { path, ...change } of changes)
      if (!left.has(path)) files.push({ root, path: showPath(path), ...change });
    if (patch !== null) patch = await addPatch(ports, patch, { root, pair, left });
  }
  return { files, patch, ...(uncaptured.length > 0 && { uncaptured }) };
}

async function addPatch(
  { reading, cwd }: DiffPorts,
  before: string,
  { root, pair, left }: { readonly root: string; readonly pair: Pair; readonly left: ReadonlyMap<RawPath, Uncaptured> },
): Promise<string | null> {
  const prefix = root === cwd ? '' : `${root.replace(/^\//, '')}/`;
  try {
    const whole = await makePatch(reading, pair, { prefix, binary: true });
    const bytes = Buffer.from(whole, 'latin1');
    if (left.size === 0 && isUtf8(bytes)) return `${before}${bytes.toString('utf8')}`;
    const sections = splitPatch(whole, await listHeldPairs(reading, pair)).filter(({ path }) => !left.has(path));
    return `${before}${await writeSections(reading, sections, prefix)}`;
  } catch (error) {
    if (error instanceof TooLarge) return null;
    throw error;
  }
}

/** Two snapshots of a folder. */
type RootPair = Pair & { readonly root: string };

/**
 * Returns the folders with snapshots that differ, the session's own one first. Throws ClientProblem
 * when a point or a snapshot is missing.
 */
export async function findPairs(
  { session, cwd, reading, store, lost = null }: DiffPorts,
  transcript: TranscriptStretch,
  { from, to, paths = [], lost: fromLost = false }: DiffOptions,
): Promise<readonly RootPair[]> {
  const stretch = { ...transcript, entries: withMovedRoots(transcript.entries) };
  const first = firstSnapshots(stretch.entries);
  if (first.size === 0)
    throw new ClientProblem('refused', `no files of session ${session} were captured: see docs/time.md`);
  if (fromLost && (lost === null || from !== undefined)) throw noLossProblem(session, from);
  const before = fromLost && lost ? lost : from === undefined ? first : snapshotsOf(session, stretch, from);
  const after = to === undefined ? lastSnapshots(stretch.entries) : snapshotsOf(session, stretch, to);
  const pairs: RootPair[] = [];
  const roots = fromLost ? [...first.keys()].filter((root) => before.has(root)) : [...first.keys()];
  for (const root of roots.toSorted((one, other) => Number(other === cwd) - Number(one === cwd))) {
    // A folder that was given later had no files of the session before.
    const pair = { from: before.get(root) ?? first.get(root) ?? '', to: after.get(root) ?? first.get(root) ?? '' };
    const within = pathsIn(root, cwd, paths);
    if (pair.from === pair.to || within === null) continue;
    if (store && !(await hasBoth(reading, pair))) await fetchPacks(reading, store, stretch.entries);
    if (!(await hasBoth(reading, pair))) throw missingProblem(session, root);
    pairs.push({ root, ...pair, paths: within });
  }
  return pairs;
}

function noLossProblem(session: SessionId, from: string | number | undefined): ClientProblem {
  if (from !== undefined)
    return new ClientProblem('refused', 'a comparison begins at a point or at the lost folder, not at both');
  const what = `this machine was not left with a captured folder of session ${session}`;
  return new ClientProblem('refused', `${what}: \`perdure list --lost-folders\` lists those there are`);
}

async function hasBoth(reading: ShadowReading, { from, to }: Pick<Pair, 'from' | 'to'>): Promise<boolean> {
  return (await hasSnapshot(reading, from)) && (await hasSnapshot(reading, to));
}

function missingProblem(session: SessionId, root: string): ClientProblem {
  const where = 'they are in the data folder of the machine that worked on it, unless that is damaged';
  return new ClientProblem('refused', `snapshots of ${root} in session ${session} are not on this machine: ${where}`);
}

/** Throws ClientProblem. */
function snapshotsOf(session: SessionId, stretch: TranscriptStretch, place: string | number): SnapshotsAt {
  const point = parsePoint(String(place));
  const quoted = JSON.stringify(String(place).slice(0, 40));
  if (point === null)
    throw new ClientProblem(
      'refused',
      `${quoted} is no point: give the position of an entry, as \`perdure show ${session} --json\` prints it, or RUN.ITERATION`,
    );
  const position = findPosition(stretch, point);
  if (position === null) throw new ClientProblem('refused', `session ${session} has no point ${quoted}`);
  return snapshotsAt(stretch, position);
}

/**
 * Returns the paths that lie in a folder, relative to it; null when there are some, and none does.
 */
function pathsIn(root: string, cwd: string, paths: readonly string[]): readonly RawPath[] | null {
  if (paths.length === 0) return [];
  const found = paths
    .map((path) => (isAbsolute(path) ? resolve(path) : resolve(cwd, path)))
    .filter((path) => isInside(root, path))
    .map((path) => Buffer.from(relative(root, path)).toString('latin1'));
  // The folder itself stands for all that is in it.
  if (found.includes('')) return [];
  return found.length === 0 ? null : found;
}

/**
 * Writes sections of a patch as text. What is no UTF-8 would be falsified there, and so it becomes
 * a binary patch. `prefix` is the one that the patch was made with. Throws TooLarge.
 */
async function writeSections(
  reading: ShadowReading,
  sections: readonly PatchSection[],
  prefix: string,
): Promise<string> {
  const texts = sections.map(({ text }) => textOf(Buffer.from(text, 'latin1')));
  const odd = sections.filter((_, at) => texts[at] === null);
  const blobs = odd.flatMap(({ from, to }) => [from, to].flatMap((file) => (file ? [file.blob] : [])));
  const contents = readBlobs(reading, blobs);
  const next = async (file: HeldFile | null): Promise<Buffer> =>
    (file && (await contents.next()).value?.[1]) ?? Buffer.alloc(0);
  const rawPrefix = Buffer.from(prefix).toString('latin1');
  let patch = '';
  for (const [at, section] of sections.entries()) {
    patch +=
      texts[at] ?? binaryPatch(section, { from: await next(section.from), to: await next(section.to) }, rawPrefix);
    if (patch.length > MOST_PRINTED) throw new TooLarge();
  }
  return patch;
}

const textOf = (bytes: Buffer): string | null => (isUtf8(bytes) ? bytes.toString('utf8') : null);

/** The content of each version, empty for a missing one. */
type Contents = { readonly from: Buffer; readonly to: Buffer };

const NO_BLOB = '0'.repeat(40);
const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~';
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** Bytes of a line, of which its first letter tells the count. */
const LINE_BYTES = LETTERS.length;
const ESCAPES = new Map(['\x07a', '\bb', '\tt', '\nn', '\vv', '\ff', '\rr', '""', '\\\\'].map(([of, as]) => [of, as]));

/**
 * Writes a patch as `git diff --binary` does, in ASCII alone: text of another encoding, which git
 * prints as it lies, would be falsified where a patch is a string. `prefix` comes before the path,
 * as in `makePatch`.
 */
function binaryPatch({ path, from, to }: HeldPair, contents: Contents, prefix: RawPath): string {
  const [before, after] = ['a/', 'b/'].map((side) => quoteName(`${side}${prefix}${path}`));
  const lines = [`diff --git ${before} ${after}`, ...modeLines(from, to)];
  if (from?.blob === to?.blob) return toText(lines);
  const mode = from && from.mode === to?.mode ? ` ${from.mode}` : '';
  lines.push(`index ${from?.blob ?? NO_BLOB}..${to?.blob ?? NO_BLOB}${mode}`);
  const { from: had, to: has } = contents;
  // An empty file that comes or goes has nothing more to tell.
  if (had.length + has.length > 0) lines.push('GIT binary patch', ...literalLines(has), ...literalLines(had));
  return toText(lines);
}

const toText = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

function modeLines(from: HeldFile | null, to: HeldFile | null): readonly string[] {
  if (from === null) return to === null ? [] : [`new file mode ${to.mode}`];
  if (to === null) return [`deleted file mode ${from.mode}`];
  return from.mode === to.mode ? [] : [`old mode ${from.mode}`, `new mode ${to.mode}`];
}

/** Quotes a name as git does with `core.quotePath`. */
function quoteName(name: RawPath): string {
  const quoted = name.replace(
    /[^\x20-\x7e]|["\\]/g,
    (byte) => `\\${ESCAPES.get(byte) ?? byte.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return quoted === name ? name : `"${quoted}"`;
}

function literalLines(content: Buffer): readonly string[] {
  const packed = deflateSync(content);
  const lines = [`literal ${content.length}`];
  for (let at = 0; at < packed.length; at += LINE_BYTES) {
    const part = packed.subarray(at, at + LINE_BYTES);
    lines.push(`${LETTERS[part.length - 1]}${toBase85(part)}`);
  }
  return [...lines, ''];
}

/** Writes four bytes as five digits, the last ones filled with zeros. */
function toBase85(bytes: Buffer): string {
  const filled = Buffer.alloc(Math.ceil(bytes.length / 4) * 4);
  bytes.copy(filled);
  let text = '';
  for (let at = 0; at < filled.length; at += 4) {
    let value = filled.readUInt32BE(at);
    let digits = '';
    for (let digit = 0; digit < 5; digit += 1) {
      digits = `${DIGITS[value % DIGITS.length]}${digits}`;
      value = Math.floor(value / DIGITS.length);
    }
    text += digits;
  }
  return text;
}
