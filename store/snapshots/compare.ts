// Compares two snapshots by the shadow repository (T11): the changed files, the patch, and
// contents. Only its objects are read, whatever lies in the workspace now.
// Keeps a git process that compares pairs of trees: starting one takes longer than a comparison.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { parseChanges, parseTree, type RawPath, type SnapshotChange } from './listing.ts';
import { listPathModes, type NotedSnapshot, withPermissionChanges } from './read-notes.ts';
import { readBlobs } from './read-blobs.ts';
import {
  gitArguments,
  isSnapshotId,
  nameTree,
  requireSnapshotId,
  shadowEnvironment,
  type ShadowPlace,
  type ShadowReading,
} from './shadow.ts';
import { parsePermissions, type PermissionsNote } from './snapshot-notes.ts';

export type { ShadowReading } from './shadow.ts';

/** Two snapshots of one folder; `paths` are files or folders in it, and none stands for all. */
export type Pair = { readonly from: string; readonly to: string; readonly paths: readonly RawPath[] };

const COMPARE = ['diff-tree', '-r', '--no-renames', '--no-ext-diff', '--no-textconv'];

/** The tree without entries, which git knows without storing it. */
const EMPTY_TREE = '4b825dc642cb6eb9a060e54bf8d69288fbee4904';
const FILES = 'files/';
/** The notes on permissions in what `diff-tree --raw -z` prints. */
const MODES = /:\d+ \d+ ([0-9a-f]{40}) ([0-9a-f]{40}) M\0modes\0/;

/** Lists what differs; `from` may be null for all that a snapshot has. */
export async function listChanges(
  reading: ShadowReading,
  { from, to, paths }: Omit<Pair, 'from'> & { readonly from: string | null },
): Promise<readonly SnapshotChange[]> {
  if (from === to) return [];
  const trees = [from ?? EMPTY_TREE, to];
  for (const tree of trees) requireSnapshotId(tree);
  const literal = paths.map((path) => `${FILES}${Buffer.from(path, 'latin1').toString('utf8')}`);
  const parts = [...(paths.length === 0 ? [FILES.slice(0, -1)] : literal), 'modes'];
  const args = [...COMPARE, '-z', '--raw', '--numstat', '--end-of-options', ...trees, '--', ...parts];
  const printed = await runGit(reading, ['--literal-pathspecs', ...args]);
  const changes = parseChanges(printed).flatMap((change) =>
    change.path.startsWith(FILES) ? [{ ...change, path: change.path.slice(FILES.length) }] : [],
  );
  const [, before, after] = MODES.exec(printed) ?? [];
  if (before === undefined || after === undefined) return changes;
  const notes: PermissionsNote[] = [];
  for await (const [, note] of readBlobs(reading, [before, after]))
    notes.push(parsePermissions(note.toString('latin1')));
  const [had, has] = notes as [PermissionsNote, PermissionsNote];
  const noted = (note: PermissionsNote, snapshot: string): NotedSnapshot => ({
    note,
    listPaths: () => listPathModes(reading, snapshot),
  });
  const isMeant = ({ path }: SnapshotChange): boolean =>
    paths.length === 0 || paths.some((one) => path === one || path.startsWith(`${one}/`));
  return (await withPermissionChanges(changes, noted(had, from ?? ''), noted(has, to))).filter(isMeant);
}

type PatchOptions = {
  /** Comes before each path; empty, or ends with a slash. */
  readonly prefix: string;
  /** Has the bytes of files that are not text, so that the patch can be applied. */
  readonly binary: boolean;
};

/** Returns a patch as `git diff` prints it, byte for byte as latin1. */
export async function makePatch(reading: ShadowReading, pair: Pair, { prefix, binary }: PatchOptions): Promise<string> {
  const prefixes = [`--src-prefix=a/${prefix}`, `--dst-prefix=b/${prefix}`];
  return compare(reading, pair, ['-p', ...(binary ? ['--binary', '--full-index'] : []), ...prefixes]);
}

async function compare(reading: ShadowReading, { from, to, paths }: Pair, how: readonly string[]): Promise<string> {
  if (from === to) return '';
  const literal = paths.map((path) => Buffer.from(path, 'latin1').toString('utf8'));
  const trees = [nameTree(from, 'files'), nameTree(to, 'files')];
  const args = [...COMPARE, ...how, '--end-of-options', ...trees, '--', ...literal];
  return runGit(reading, ['--literal-pathspecs', ...args]);
}

/** Git ends with 1 or 128 when it finds nothing, or damage. */
const HAS_SCRIPT = '"$@" || { status=$?; case $status in 1|128) echo absent;; *) exit $status;; esac; }';

/** Tells whether a snapshot is in the repository. Rejects where git could not tell. */
export async function hasSnapshot({ gitDir, git, run }: ShadowReading, id: string): Promise<boolean> {
  if (!isSnapshotId(id) || !existsSync(gitDir)) return false;
  const args = gitArguments(git, { gitDir }, ['cat-file', '-e', '--end-of-options', nameTree(id, 'files')]);
  const printed = await run(['sh', '-c', HAS_SCRIPT, 'sh', ...args], { env: shadowEnvironment(), cwd: gitDir });
  return printed === '';
}

/** Returns the newest snapshot that was taken here of a folder of a session; null without one. */
export async function findLastSnapshot(
  reading: ShadowReading,
  { ref }: Pick<ShadowPlace, 'ref'>,
): Promise<string | null> {
  const id = (await runGit(reading, ['for-each-ref', '--format=%(tree)', ref])).trim();
  return isSnapshotId(id) ? id : null;
}

/** A file of a snapshot: its mode as git writes it, and the hash of its content. */
export type HeldFile = { readonly mode: string; readonly blob: string };

/** A file of two snapshots; null where one does not have it. */
export type HeldPair = { readonly path: RawPath; readonly from: HeldFile | null; readonly to: HeldFile | null };

export async function listHeldPairs(reading: ShadowReading, pair: Pair): Promise<readonly HeldPair[]> {
  const fields = (await compare(reading, pair, ['-z', '--raw'])).split('\0');
  const pairs: HeldPair[] = [];
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [fromMode = '', toMode = '', from = '', to = ''] = (fields[at] ?? '').slice(1).split(' ');
    const toFile = (mode: string, blob: string): HeldFile | null => (/^0+$/.test(blob) ? null : { mode, blob });
    pairs.push({ path: fields[at + 1] ?? '', from: toFile(fromMode, from), to: toFile(toMode, to) });
  }
  return pairs;
}

/** Lists the regular files of a snapshot. */
export async function listHeldFiles(
  reading: ShadowReading,
  id: string,
): Promise<readonly { readonly path: RawPath; readonly blob: string }[]> {
  const tree = parseTree(await runGit(reading, ['ls-tree', '-r', '-z', '--end-of-options', nameTree(id, 'files')]));
  return tree.flatMap(({ mode, id: blob, path }) => (mode.startsWith('100') ? [{ path, blob }] : []));
}

/** A patch's section about a file, byte for byte as latin1. */
export type PatchSection = HeldPair & { readonly text: string };

/** Splits a patch, which has a section for each pair: two where a link is no longer one. */
export function splitPatch(patch: string, pairs: readonly HeldPair[]): readonly PatchSection[] {
  const sections = patch.split(/(?<=\n)(?=diff --git )/);
  const parts = pairs.flatMap((pair): readonly HeldPair[] => {
    const { path, from, to } = pair;
    const isOther = from !== null && to !== null && from.mode.slice(0, 2) !== to.mode.slice(0, 2);
    return isOther
      ? [
          { path, from, to: null },
          { path, from: null, to },
        ]
      : [pair];
  });
  return parts.map((pair, at) => ({ ...pair, text: sections[at] ?? '' }));
}

/** Reads the content of a file, or the target of a link. */
export async function readHeld(reading: ShadowReading, { blob }: HeldFile): Promise<Buffer> {
  return Buffer.from(await runGit(reading, ['cat-file', 'blob', '--end-of-options', blob]), 'latin1');
}

function runGit({ gitDir, git, run }: ShadowReading, args: readonly string[]): Promise<string> {
  return run(gitArguments(git, { gitDir }, args), { env: shadowEnvironment(), cwd: gitDir });
}

const DIFF = ['diff-tree', '--stdin', '-r', '-z', '--raw', '--numstat', '--no-renames'];
/** Git prints a line that names no trees as it is, and all before it. */
const END = 'end\n';

export class Comparison {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  #errorText = '';
  #isOver = false;

  constructor(git: string, place: ShadowPlace) {
    const [program = '', ...args] = gitArguments(git, place, DIFF);
    const env = { ...process.env, ...shadowEnvironment() };
    this.#child = spawn(program, args, { cwd: place.own, env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.#child.stdout.setEncoding('latin1');
    this.#child.stderr.setEncoding('latin1').on('data', (text: string) => (this.#errorText += text));
    // The comparison says how it ended.
    this.#child.stdin.on('error', () => undefined);
    this.#child.once('close', () => (this.#isOver = true)).once('error', () => (this.#isOver = true));
    this.#child.unref();
  }

  /** Git may have been killed since it was last asked. */
  get isOver(): boolean {
    return this.#isOver || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  compare(from: string, to: string): Promise<string> {
    const child = this.#child;
    return new Promise((resolve, reject) => {
      let printed = '';
      const done = (): void => {
        child.stdout.off('data', read);
        child.off('close', fail).off('error', fail);
      };
      const read = (text: string): void => {
        printed += text;
        if (!printed.endsWith(END)) return;
        done();
        resolve(printed.slice(printed.indexOf('\n') + 1, -END.length));
      };
      const fail = (): void => {
        done();
        reject(new Error(this.#errorText.trim() || 'git ended while it compared two snapshots'));
      };
      child.stdout.on('data', read);
      child.once('close', fail).once('error', fail);
      child.stdin.write(`${from} ${to}\n${END}`);
    });
  }

  close(): void {
    this.#child.stdin.end();
  }
}
