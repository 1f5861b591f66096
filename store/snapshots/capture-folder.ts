// Captures one folder of one session into the shadow repository, again and again. It keeps the
// folder's state in memory, and next to the snapshots for the next process.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { codeOf, onOneLine, reasonOf } from '../../system/text.ts';
import { Comparison } from './compare.ts';
import {
  FolderIndex,
  modeOf,
  OutOfBounds,
  type FolderLook,
  type FoundFile,
  type IndexedFile,
  type IndexedFolder,
  type LookBounds,
  type OmittedWhy,
  PERMISSIONS,
} from './folder-index.ts';
import { FOLDER_MODE, loosePath, ObjectWriter, receivePack, runWithInput, type TreeEntry } from './git-objects.ts';
import { parseIgnoreFile } from './ignore-rules.ts';
import { collectFiles, type LastSnapshot, readSaved, replaceSavedFile, type SavedFile } from './saved-files.ts';
import { moveRef } from './move-ref.ts';
import { NO_PERSONAL, type PersonalSettings } from './repository-rules.ts';
import { readContent } from './read-content.ts';
import {
  collectOmitted,
  formatOmitted,
  formatPermissions,
  forgetOdd,
  formatRules,
  guessUmask,
  listPermissions,
  type Omitted,
  parsePermissions,
  whyNot,
} from './snapshot-notes.ts';
import { listPathModes, withPermissionChanges } from './read-notes.ts';
import { parseChanges, parseTree, type RawPath, type SnapshotChange } from './listing.ts';
import { createTemporaryCheck } from './restore/temporary-names.ts';
import {
  gitArguments,
  isSnapshotId,
  leaveOutData,
  nameTree,
  openShadow,
  shadowEnvironment,
  type ShadowPlace,
  type ShadowReading,
} from './shadow.ts';
import { findUncaptured } from './uncaptured.ts';

/** The most that is captured of a folder. Bytes. */
export type SnapshotCaps = { readonly files: number; readonly bytes: number; readonly fileBytes: number };

export type Snapshot = {
  /** The hash of the tree that is the snapshot. */
  readonly id: string;
  /** The snapshot that it was compared with; null where the given one is not here. */
  readonly before: string | null;
  /** Changes since the snapshot before; none without one. */
  readonly changes: readonly SnapshotChange[];
  readonly files: number;
  /** Bytes of the files that were captured anew. */
  readonly bytes: number;
  /** Omissions and their reasons: the first ones, and the number of all. */
  readonly leftOut: readonly Omitted[];
  readonly leftOutCount: number;
};

/**
 * `position` is that of the transcript's next entry. `rewind` is the step of one that is under way,
 * before and after which the files are captured.
 */
export type CommitAbout = { readonly session: string; readonly position?: number; readonly rewind?: number };

export type CaptureRequest = {
  readonly place: ShadowPlace;
  /** The path of git. */
  readonly git: string;
  readonly caps: SnapshotCaps;
  /** Patterns of ignored files that are captured all the same, as lines of `.gitignore`. */
  readonly include: readonly string[];
  /** The person's settings for all repositories. */
  readonly personal?: PersonalSettings;
  /** The snapshot to compare with. */
  readonly before: string | null;
  /** Snapshots whose files count as captured, whatever rule matches them since. */
  readonly held?: readonly string[];
  /** The subject of the snapshot, for people who read the history with git. */
  readonly about?: CommitAbout;
  /** Leaves packs of what is new in the folder `outgoing` of the place, by their SHA-256. */
  readonly packs?: boolean;
  /** Looks only at changes that the system reported, where it can, not at the whole folder. */
  readonly trustsWatch?: boolean;
};

/** A home folder, or a whole machine, is not looked through for longer than that. */
const LOOKING_MS = 20_000;
/** All that lies in a folder is looked at when the last such look is older. */
const TRUSTED_MS = 30_000;
const MOST_NAMED = 100;
/** Never captured, and not worth a word each time. */
const UNTOLD: ReadonlySet<OmittedWhy> = new Set(['data', 'no_file', 'git']);
/** With any of these, changes elsewhere may decide what is captured. */
const UNWATCHED: ReadonlySet<OmittedWhy> = new Set(['files', 'bytes', 'unreadable']);

/** The file system says so by a code, git by a sentence. */
const isFull = (error: unknown): boolean =>
  ['ENOSPC', 'EDQUOT'].includes(codeOf(error) ?? '') ||
  /No space left on device|Disk quota exceeded/.test(reasonOf(error));

const IGNORE_FILE = /(?:^|\/)\.gitignore$/;

/** Packs that wait to be stored where other hosts find them. */
export const outgoingOf = ({ own }: Pick<ShadowPlace, 'own'>): string => join(own, 'outgoing');

/** A file that no stats match is read. */
const UNREAD = { permissions: -1, size: 0, mtimeMs: 0, ctimeMs: 0, ino: 0, readAt: 0 };

export class FolderCapture {
  readonly #place: ShadowPlace;
  readonly #git: string;
  #index: FolderIndex;
  #writer: ObjectWriter;
  #last: LastSnapshot | null = null;
  #previous: LastSnapshot | null = null;
  #isOpen = false;
  /** Whether the index has what the snapshot before has. */
  #isRecalled = false;
  /** The commit that was found in packs, and when their folder had last changed then. */
  #packed = '';
  /** Whether all that was captured so far went into packs. */
  #isPacked = false;
  #isSaved = true;
  /** When all was looked at, as `performance.now` tells it. */
  #lookedAt = -Infinity;
  /** Whether all that the looks have found was captured. */
  #isTaken = false;
  /** A bound over all files may have room for others at any change: all is looked at then. */
  #isWatched = true;
  /** The note of the last snapshot on permissions, which a comparison of trees does not tell. */
  #modes = '';
  /** The umask whose permissions are not in it. */
  #umask: number | null = null;
  #compare: Comparison | null = null;

  constructor({ place, git }: Pick<CaptureRequest, 'place' | 'git'>) {
    this.#place = place;
    this.#git = git;
    this.#index = new FolderIndex(place.root, git);
    this.#writer = this.#openWriter();
  }

  /** Rejects with what git or the file system said. */
  async capture(request: CaptureRequest): Promise<Snapshot> {
    try {
      return await this.#attempt(request);
    } catch (error) {
      if (error instanceof OutOfBounds) throw error;
      // The known state, or objects that it names, may be damaged: all files are read once more.
      this.#forget();
      await openShadow(this.#place);
      rmSync(join(this.#place.own, 'stats'), { force: true });
      if (isFull(error)) throw error;
      return await this.#attempt(request);
    }
  }

  /** Keeps what is known of the folder for the next process. */
  save(): void {
    if (this.#isSaved || this.#last === null) return;
    const files: SavedFile[] = [];
    collectFiles(this.#index.top, '', files);
    const body = JSON.stringify({ last: this.#last, isPacked: this.#isPacked, files });
    const sum = createHash('sha256').update(body).digest('hex');
    replaceSavedFile(join(this.#place.own, 'stats'), `${sum}\n${body}`);
    this.#isSaved = true;
  }

  /** Ends the process that compares, and the watch over the folder. */
  close(): void {
    this.#index.close();
    this.#compare?.close();
    this.#compare = null;
  }

  #openWriter(): ObjectWriter {
    const { gitDir } = this.#place;
    const indexPack = gitArguments(this.#git, this.#place, ['index-pack', '--stdin']);
    return new ObjectWriter(gitDir, (pack) => receivePack(gitDir, (env) => runWithInput(indexPack, pack, env)));
  }

  #forget(): void {
    this.close();
    this.#isSaved = true;
    this.#index = new FolderIndex(this.#place.root, this.#git);
    this.#writer = this.#openWriter();
    this.#last = this.#previous = null;
    this.#isOpen = true;
    this.#isRecalled = false;
  }

  async #attempt(request: CaptureRequest): Promise<Snapshot> {
    const { caps, before, packs = false } = request;
    if (!this.#isOpen || !(await this.#hasLast()) || (packs && !this.#isPacked)) await this.#open(packs);
    // A snapshot that goes into no pack is in none later on.
    this.#isPacked &&= packs;
    const recalled = [...(this.#isRecalled ? [] : [before]), ...(request.held ?? [])];
    for (const id of new Set(recalled)) if (id !== this.#last?.id) await this.#recall(id);
    this.#isRecalled ||= before !== null;
    const collect = packs ? (pack: Buffer) => this.#leavePack(pack) : undefined;
    const look = await this.#look(request);
    let bytes = 0;
    for (const found of [...look.known, ...look.added.toSorted((a, b) => (a.path < b.path ? -1 : 1))]) {
      const previousId = found.folder.files.get(found.name)?.id;
      if (this.#take(found, caps) && previousId !== found.folder.files.get(found.name)?.id) bytes += found.stats.size;
      if (this.#writer.isFull()) await this.#writer.flush(collect);
    }
    this.#isSaved &&= look.known.length + look.added.length === 0;
    const leftOut: Omitted[] = [];
    collectOmitted(this.#index.top, '', leftOut);
    this.#isWatched = !leftOut.some(({ why }) => UNWATCHED.has(why));
    if (!this.#isWatched) this.#index.close();
    const last = await this.#write(request, leftOut, collect);
    this.#isTaken = true;
    const named = leftOut.filter(({ why }) => !UNTOLD.has(why));
    return {
      id: last.id,
      ...(await this.#changesSince(before, last)),
      files: this.#index.files,
      bytes,
      leftOut: named.slice(0, MOST_NAMED),
      leftOutCount: named.length,
    };
  }

  async #look({ caps, include, personal = NO_PERSONAL, trustsWatch = false }: CaptureRequest): Promise<FolderLook> {
    const now = performance.now();
    const bounds: LookBounds = {
      files: caps.files,
      until: now + LOOKING_MS,
      leaveOut: leaveOutData(this.#place),
      isTemporary: createTemporaryCheck(this.#place.gitDir),
      include: parseIgnoreFile(include.join('\n')),
      personal,
      isWatched: this.#isWatched && include.length === 0,
    };
    const isFresh = this.#isTaken && now - this.#lookedAt < TRUSTED_MS;
    this.#isTaken = false;
    const changes = trustsWatch && isFresh ? await this.#index.lookAtChanges(bounds) : null;
    if (changes) return changes;
    this.#lookedAt = now;
    return this.#index.look(bounds);
  }

  /** Captures a file, or notes why not, and tells which. */
  #take({ folder, name, path, stats, readAt }: FoundFile, caps: SnapshotCaps): boolean {
    // One may have been found twice.
    const previous = folder.files.get(name);
    const why = whyNot(stats, caps) ?? this.#whyFull(previous, stats.size, caps);
    const content = why === null ? readContent(this.#index.placeOf(path), stats.isSymbolicLink(), caps.fileBytes) : why;
    if (typeof content === 'string') {
      if (content === 'gone') this.#index.remove(folder, name);
      else this.#index.omit(folder, name, content);
      return false;
    }
    const { size, mtimeMs, ctimeMs, ino } = stats;
    const permissions = stats.mode & PERMISSIONS;
    const id = this.#writer.add('blob', content);
    this.#index.set(folder, name, { mode: modeOf(stats), permissions, size, mtimeMs, ctimeMs, ino, readAt, id });
    return true;
  }

  #whyFull(previous: IndexedFile | undefined, size: number, caps: SnapshotCaps): OmittedWhy | null {
    if (!previous && this.#index.files >= caps.files) return 'files';
    return this.#index.bytes - (previous?.size ?? 0) + size > caps.bytes ? 'bytes' : null;
  }

  /** Writes the snapshot where it is another than the last. */
  async #write(
    request: CaptureRequest,
    leftOut: readonly Omitted[],
    collect: ((pack: Buffer) => void) | undefined,
  ): Promise<LastSnapshot> {
    const [empty, odd]: [RawPath[], string[]] = [[], []];
    const umask = guessUmask(this.#index.permissions);
    if (umask !== this.#umask) forgetOdd(this.#index.top);
    this.#umask = umask;
    const files = this.#treeOf(this.#index.top, '', { empty, odd }) || this.#writer.addTree([]);
    const folders = empty.toSorted().join('\0');
    const rules = formatRules(this.#index.rulesInForce(), request.include);
    this.#modes = formatPermissions(odd, umask);
    const modes = this.#addText(this.#modes);
    const notes = { omitted: this.#addText(formatOmitted(leftOut)), rules: this.#addText(rules) };
    const id = this.#writer.addTree([
      { mode: FOLDER_MODE, name: 'files', id: files },
      { mode: '100644', name: 'folders', id: this.#addText(folders) },
      { mode: '100644', name: 'modes', id: modes },
      { mode: '100644', name: 'omitted', id: notes.omitted },
      { mode: '100644', name: 'rules', id: notes.rules },
    ]);
    if (this.#last?.id === id) return this.#last;
    // Commits are of this repository alone.
    await this.#writer.flush(collect);
    const commit = await this.#addCommit(id, request);
    this.#previous = this.#last;
    this.#last = { id, files, commit, modes, deciding: `${notes.omitted} ${notes.rules}` };
    this.#isSaved = false;
    return this.#last;
  }

  #addText(latin1: string): string {
    return this.#writer.add('blob', Buffer.from(latin1, 'latin1'));
  }

  /**
   * Returns the tree of a folder, empty without files, and collects the folders without any and the
   * permissions that are not the usual ones.
   */
  #treeOf(folder: IndexedFolder, path: RawPath, found: { readonly empty: RawPath[]; readonly odd: string[] }): string {
    const entries: TreeEntry[] = [];
    for (const [name, child] of folder.folders) {
      const id = this.#treeOf(child, `${path}${name}/`, found);
      if (id === '') found.empty.push(`${path}${name}/`);
      else if (folder.tree === null) entries.push({ mode: FOLDER_MODE, name, id });
    }
    folder.odd ??= listPermissions(folder, path, this.#umask ?? 0);
    for (const line of folder.odd) found.odd.push(line);
    if (folder.tree !== null) return folder.tree;
    for (const [name, { mode, id }] of folder.files) entries.push({ mode, name, id });
    folder.tree = entries.length === 0 ? '' : this.#writer.addTree(entries);
    return folder.tree;
  }

  /** Objects are on disk before the ref of the session names them. */
  async #addCommit(tree: string, { about }: CaptureRequest): Promise<string> {
    const { gitDir, ref } = this.#place;
    const path = join(gitDir, ref);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    return await moveRef(path, async (parent) => {
      const who = `Perdure <perdure@localhost> ${Math.floor(Date.now() / 1_000)} +0000`;
      const lines = [`tree ${tree}`, ...(parent ? [`parent ${parent}`] : []), `author ${who}`, `committer ${who}`];
      const text = `${lines.join('\n')}\n\n${describeCommit(this.#place, about)}\n`;
      const commit = this.#writer.add('commit', Buffer.from(text));
      await this.#writer.flush();
      return commit;
    });
  }

  async #changesSince(before: string | null, last: LastSnapshot): Promise<Pick<Snapshot, 'before' | 'changes'>> {
    const from = before === null ? null : await this.#partsOf(before, last);
    if (from === null) return { before: null, changes: [] };
    const changes = from.files === last.files ? [] : await this.#compareTrees(from.files, last.files);
    const all =
      from.modes === last.modes
        ? changes
        : await this.#addModes(before ?? '', { modes: from.modes, last: last.id }, changes);
    const isDecidedAlike = from.deciding === last.deciding && !all.some(({ path }) => IGNORE_FILE.test(path));
    return { before, changes: isDecidedAlike ? all : await this.#withoutUncaptured(before, last.id, all) };
  }

  /** A file that is only no longer captured, or only now, has not changed. */
  async #withoutUncaptured(
    from: string | null,
    to: string,
    changes: readonly SnapshotChange[],
  ): Promise<readonly SnapshotChange[]> {
    // Where the notes of a snapshot are damaged, all counts as changed.
    const uncaptured = await findUncaptured(this.#reading, { from: from ?? '', to }, changes).catch(() => null);
    return changes.filter(({ path }) => {
      const found = uncaptured?.get(path);
      // A captured file is looked at whatever rule ignores it since: it is gone.
      return found === undefined || (found.kind === 'deleted' && found.why === 'ignored');
    });
  }

  async #compareTrees(from: string, to: string): Promise<readonly SnapshotChange[]> {
    if (this.#compare?.isOver === true) this.#compare = null;
    this.#compare ??= new Comparison(this.#git, this.#place);
    return parseChanges(await this.#compare.compare(from, to));
  }

  async #addModes(
    before: string,
    { modes, last }: { readonly modes: string | undefined; readonly last: string },
    changes: readonly SnapshotChange[],
  ): Promise<readonly SnapshotChange[]> {
    // A snapshot of an earlier version does not say what permissions there were.
    if (modes === undefined) return changes;
    const note = parsePermissions(await this.#runGit(['cat-file', 'blob', '--end-of-options', modes]));
    const listPaths = (snapshot: string) => () => listPathModes(this.#reading, snapshot);
    const now = { note: parsePermissions(this.#modes), listPaths: listPaths(last) };
    return await withPermissionChanges(changes, { note, listPaths: listPaths(before) }, now);
  }

  get #reading(): ShadowReading {
    return { ...this.#place, git: this.#git, run: (argv, { env }) => runWithInput(argv, '', env) };
  }

  /** Returns the parts of a snapshot; null where it is damaged, or another host's. */
  async #partsOf(snapshot: string, last: LastSnapshot): Promise<Omit<LastSnapshot, 'id' | 'commit'> | null> {
    if (snapshot === last.id) return last;
    if (snapshot === this.#previous?.id) return this.#previous;
    if (!isSnapshotId(snapshot)) return null;
    const listed = await this.#runGit(['ls-tree', '-z', '--end-of-options', snapshot]).catch(() => '');
    const ids = new Map(parseTree(listed).map(({ path, id }) => [path, id]));
    const [files, modes] = [ids.get('files'), ids.get('modes')];
    const deciding = `${ids.get('omitted')} ${ids.get('rules')}`;
    return files === undefined ? null : { files, deciding, ...(modes !== undefined && { modes }) };
  }

  async #runGit(args: readonly string[], input = ''): Promise<string> {
    return await runWithInput(gitArguments(this.#git, this.#place, args), input, shadowEnvironment());
  }

  /**
   * Tells whether the last commit is still there. A pack that took it over is asked for it once.
   */
  async #hasLast(): Promise<boolean> {
    if (this.#last === null) return true;
    const { commit } = this.#last;
    const objects = join(this.#place.gitDir, 'objects');
    if (existsSync(loosePath(objects, commit))) return true;
    const packs = statSync(join(objects, 'pack'), { throwIfNoEntry: false })?.mtimeMs;
    if (packs === undefined) return false;
    const found = `${commit} ${packs}`;
    if (this.#packed === found) return true;
    const has = await this.#runGit(['cat-file', '-e', commit]).then(
      () => true,
      () => false,
    );
    if (has) this.#packed = found;
    return has;
  }

  /** Reads what an earlier process has kept, as far as the repository still has it. */
  async #open(packs: boolean): Promise<void> {
    await openShadow(this.#place);
    this.save();
    const saved = readSaved(join(this.#place.own, 'stats'));
    this.#forget();
    this.#isPacked = packs;
    // Files that no pack holds are captured once more.
    if (saved === null || (packs && saved.isPacked !== true)) return;
    const existing = await this.#findExisting(saved.last);
    if (existing === null) return;
    for (const [path, mode, size, mtimeMs, ctimeMs, ino, readAt, id, permissions = -1] of saved.files) {
      if (!existing.has(id)) continue;
      const name = path.slice(path.lastIndexOf('/') + 1);
      this.#index.set(this.#index.folderOf(path), name, { mode, permissions, size, mtimeMs, ctimeMs, ino, readAt, id });
    }
    this.#writer.remember(existing);
    this.#last = saved.last;
    this.#isPacked = saved.isPacked === true;
  }

  /** Takes files for captured that the snapshot before has, and that a rule may ignore since. */
  async #recall(before: string | null): Promise<void> {
    if (!isSnapshotId(before)) return;
    // Files that come back into the index are looked at, whatever the system reported.
    this.#isTaken = false;
    const args = ['ls-tree', '-r', '-z', '--full-tree', '--end-of-options', nameTree(before, 'files')];
    for (const { mode, path, id } of parseTree(await this.#runGit(args).catch(() => ''))) {
      const [folder, name] = [this.#index.folderOf(path), path.slice(path.lastIndexOf('/') + 1)];
      if (!folder.files.has(name)) this.#index.set(folder, name, { ...UNREAD, mode, id });
    }
  }

  #leavePack(pack: Buffer): void {
    const folder = outgoingOf(this.#place);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceSavedFile(join(folder, createHash('sha256').update(pack).digest('hex')), pack);
  }

  /** Returns the objects of a snapshot that the repository has; null when a tree is missing. */
  async #findExisting({ id, commit }: LastSnapshot): Promise<ReadonlySet<string> | null> {
    try {
      const args = ['ls-tree', '-r', '-t', '-z', '--full-tree', '--end-of-options', id];
      const ids = [id, commit, ...parseTree(await this.#runGit(args)).map((line) => line.id)];
      const found = await this.#runGit(
        ['cat-file', '--batch-check=%(objectname) %(objecttype)'],
        `${ids.join('\n')}\n`,
      );
      const lines = found.split('\n').map((line) => line.split(' '));
      return new Set(lines.flatMap(([name = '', kind]) => (kind === 'missing' ? [] : [name])));
    } catch {
      return null;
    }
  }
}

/** Says in the history of the repository what a snapshot is of. */
function describeCommit({ root }: ShadowPlace, { session = 'unknown', position, rewind }: Partial<CommitAbout> = {}) {
  const place = position === undefined ? [] : [`Position: ${position}`];
  const step = rewind === undefined ? [] : [`Rewind: step ${rewind}`];
  return [`snapshot of ${onOneLine(root)}`, '', `Session: ${session}`, ...place, ...step].join('\n');
}
