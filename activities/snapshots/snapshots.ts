// Captures the folders of a run beside its next model call (T1): after a call that may have changed
// files, and at the beginning of a run. It never fails a step: a folder that cannot be captured is
// told of once, and the session goes on.
import { existsSync } from 'node:fs';
import { clip, onOneLine, reasonOf } from '../../system/text.ts';
import { isInside, realOf } from '../../system/process/places.ts';
import { RecentMap } from '../../system/recent-map.ts';
import type { Log } from '../../system/log.ts';
import type { FilesCheckedOut } from '../../workflows/contract/fork.ts';
import type { FilesPreview, FilesRewound } from '../../workflows/contract/rewind.ts';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { SessionHost } from '../../workflows/contract/session.ts';
import type { RunConfig } from '../../store/configuration.ts';
import type { Entry } from '../../store/log/entries.ts';
import { isAgentNotice } from '../../store/view/agent-end.ts';
import type { View } from '../../store/view/view.ts';
import type { FilesEntry, RootSnapshot } from '../../store/snapshots/files-entry.ts';
import { findLastSnapshot } from '../../store/snapshots/compare.ts';
import { OutOfBounds } from '../../store/snapshots/folder-index.ts';
import { lastSnapshotOf, type StoredFiles } from '../../store/snapshots/snapshot-points.ts';
import { packsIn } from '../../store/snapshots/packs.ts';
import type { Store } from '../../store/values/store.ts';
import { noteStore } from '../../store/snapshots/pack-shadow.ts';
import { placeOfRoot } from '../../store/snapshots/shadow.ts';
import { describeSnapshot, takeSnapshot } from '../../store/snapshots/take-snapshot.ts';
import type { CallRunner } from '../calls/call-port.ts';
import { CapturePool } from './capture-pool.ts';
import { bringRoot, checkOutRoot } from './check-out.ts';
import { PersonalRules } from './personal-rules.ts';
import { previewRoots, type RewindMeans } from './rewind-means.ts';
import { rewindRoots } from './rewind-roots.ts';
import { runGitHeld } from './run-git-held.ts';
import { sendNewPacks } from './send-new-packs.ts';
import type {
  BringAbout,
  CaptureAbout,
  CaptureLastAbout,
  CheckOutAbout,
  EarlyAbout,
  FilesRestored,
  RewindAbout,
  Snapshots,
} from './snapshots-port.ts';

type SnapshotsOptions = Omit<RewindMeans, 'capture' | 'personal' | 'packs' | 'store'> & {
  readonly env: NodeJS.ProcessEnv;
  /** Without captures, rewinds use the snapshots that exist. */
  readonly setting: boolean | undefined;
  /** Bytes of the disk that all snapshots may take; absent: a default. */
  readonly diskBytes?: number | undefined;
  /** The home folder of the person: one with it is captured only where someone said so. */
  readonly home: string;
  readonly host: SessionHost | undefined;
  readonly store: Store;
  /** The id of the store, which tells whose sessions are captured. */
  readonly storeId: () => Promise<string>;
  readonly tools: Pick<CallRunner, 'bind'>;
  readonly log: Log;
  readonly now: () => number;
};

/**
 * The sessions of which it is remembered how far they were looked at; a forgotten one costs a look.
 */
const SESSIONS = 1_000;

/** A folder that could not be captured is left alone for so long. */
const AGAIN_MS = 60_000;

/** A snapshot with what it says of itself in the transcript. */
type CapturedRoot = { readonly id: string; readonly described: RootSnapshot };

/**
 * How far the calls of a session were judged, and whether a look is still owed for them: one that
 * found changes is, until its entry is stored, since the step that was to store it may have failed.
 */
type LastLook = { readonly position: number; readonly entry: Entry | undefined; readonly isOwed: boolean };
/** `at`: when it began, in milliseconds since the epoch. */
type EarlyCapture = {
  readonly head: Hash;
  readonly at: number;
  readonly roots: ReadonlyMap<string, Promise<CapturedRoot | null>>;
};
/** `isMissed`: some folder could not be captured. */
type Taken = { readonly files: FilesEntry | null; readonly isMissed: boolean };

export class WorkerSnapshots implements Snapshots {
  readonly setting: boolean | undefined;
  readonly #options: SnapshotsOptions & Pick<RewindMeans, 'capture' | 'personal' | 'packs'>;
  readonly #pool: CapturePool;
  readonly #looks = new RecentMap<SessionId, LastLook>(SESSIONS);
  readonly #early = new RecentMap<SessionId, EarlyCapture>(SESSIONS);
  /** By session and folder, what kept it from being captured, and until when it is left alone. */
  readonly #givenUp = new RecentMap<string, { readonly until: number; readonly problem: string }>(SESSIONS);

  constructor(options: SnapshotsOptions) {
    const pool = new CapturePool(options);
    this.#pool = pool;
    const rules = new PersonalRules(options);
    this.#options = {
      ...options,
      capture: (request) => pool.capture(request),
      personal: () => rules.read(),
      packs: options.host !== undefined,
    };
    this.setting = options.setting;
  }

  captures({ snapshots = this.setting ?? true }: RunConfig): boolean {
    return snapshots;
  }

  captureEarly({ config, head, view, files }: EarlyAbout): void {
    const known = files ? [files] : [];
    const at = this.#options.now();
    const roots = new Map(rootsOf(config).map((root) => [root, this.#take(config, root, { view, known }, true)]));
    this.#early.set(config.session, { head, at, roots });
  }

  async capture({ config, head, base: { view, added }, signal }: CaptureAbout): Promise<FilesEntry | null> {
    if (!this.captures(config)) return null;
    const { session } = config;
    const early = this.#takeEarly(session, head, added);
    const { fresh, isOwed } = this.#findFresh(session, view, added);
    if (!isOwed && !mayHaveChanged(this.#options, config, fresh)) {
      this.#noteLook(session, view, false);
      return null;
    }
    // A run begins with a look at everything: it finds changes that the system did not tell.
    const isWithin = !fresh.some(({ kind }) => kind === 'run_started');
    const { files, isMissed } = await this.#takeAll(config, view, { early, isWithin, signal });
    if (signal.aborted) return null;
    this.#noteLook(session, view, isMissed || files !== null);
    return files;
  }

  async captureAll({ config, base: { view }, signal }: CaptureAbout): Promise<FilesEntry | null> {
    if (!this.captures(config)) return null;
    this.#looks.delete(config.session);
    this.#early.delete(config.session);
    const { files } = await this.#takeAll(config, view, { early: null, isWithin: false, signal });
    return signal.aborted ? null : files;
  }

  /**
   * Captures the folders of a run; those that are as they were before are left out. The entry has
   * the time at which it began: agents may change files meanwhile.
   */
  async #takeAll(
    config: RunConfig,
    view: View,
    { early, isWithin, signal }: { early: EarlyCapture | null; isWithin: boolean; signal: AbortSignal },
  ): Promise<Taken> {
    const at = early?.at ?? this.#options.now();
    const roots: RootSnapshot[] = [];
    let isMissed = false;
    for (const root of rootsOf(config)) {
      const before = lastSnapshotOf({ view, known: [] }, root);
      const snapshot = await (early?.roots.get(root) ?? this.#take(config, root, { view, known: [] }, isWithin));
      if (signal.aborted) break;
      isMissed ||= snapshot === null;
      if (snapshot && snapshot.id !== before) roots.push(snapshot.described);
    }
    const { host } = this.#options;
    const files = roots.length === 0 ? null : { kind: 'files' as const, roots, at, ...(host && { host: host.id }) };
    return { files, isMissed };
  }

  /**
   * Returns the entries whose calls were not judged yet, and whether a look is owed without them.
   */
  #findFresh(session: SessionId, view: View, added: readonly Entry[]): UnjudgedEntries {
    const last = this.#looks.get(session);
    // After a rewind another entry may be at that position.
    if (last === undefined || view.at(last.position) !== last.entry)
      return { fresh: [...view.from(findUnjudged(view)), ...added], isOwed: false };
    const fresh = [...view.from(last.position + 1), ...added];
    return { fresh, isOwed: last.isOwed && !fresh.some(({ kind }) => kind === 'files') };
  }

  #noteLook(session: SessionId, view: View, isOwed: boolean): void {
    const position = view.length - 1;
    this.#looks.set(session, { position, entry: view.at(position), isOwed });
  }

  async captureLast({ host, ...about }: CaptureLastAbout): Promise<FilesEntry | null> {
    return this.#options.host?.id === host ? await this.capture(about) : null;
  }

  async rewind(about: RewindAbout): Promise<FilesRewound> {
    const { session } = about.attempt;
    this.#looks.delete(session);
    this.#early.delete(session);
    return await rewindRoots(this.#options, about);
  }

  preview(about: RewindAbout): Promise<FilesPreview> {
    return previewRoots(this.#options, about);
  }

  bring(about: BringAbout): Promise<FilesRestored> {
    const { session } = about.attempt;
    this.#looks.delete(session);
    this.#early.delete(session);
    return bringRoot(this.#options, about);
  }

  async captureLeft(session: SessionId, root: string): Promise<string | null> {
    const { dataDir, sandbox } = this.#options;
    const place = placeOfRoot(dataDir, session, root);
    if (!existsSync(place.own) || realOf(root) !== root) return null;
    this.#looks.delete(session);
    this.#early.delete(session);
    try {
      const run = runGitHeld(this.#options, new AbortController().signal);
      const means = { ...this.#options, place, git: sandbox.programs.at('git'), run, about: { session } };
      const before = await findLastSnapshot({ ...means, ...place }, place);
      return (await takeSnapshot(means, before)).id;
    } catch (error) {
      this.#giveUp(session, root, error);
      return null;
    }
  }

  readonly rootsOf = rootsOf;

  uncapturedCalls(config: RunConfig, view: View, at: number): readonly string[] {
    return view.from(findUnjudged(view, at)).flatMap((entry) => effectsIn(this.#options, config, entry));
  }

  checkOut(about: CheckOutAbout): Promise<FilesCheckedOut> {
    return checkOutRoot(this.#options, about);
  }

  async close(): Promise<void> {
    await this.#pool.close();
  }

  /** Returns what was captured right after the last calls, if nothing could have changed since. */
  #takeEarly(session: SessionId, head: Hash | null, added: readonly Entry[]): EarlyCapture | null {
    const early = this.#early.get(session);
    this.#early.delete(session);
    const isStill = early?.head === head && !added.some(({ kind }) => kind === 'user' || kind === 'run_started');
    return isStill ? early : null;
  }

  /** Captures a folder; null where that cannot be done. */
  async #take(
    config: RunConfig,
    root: string,
    stored: StoredFiles,
    trustsWatch: boolean,
  ): Promise<CapturedRoot | null> {
    const { dataDir, sandbox, packs, now } = this.#options;
    const { session } = config;
    const name = `${session} ${root}`;
    if (now() < (this.#givenUp.get(name)?.until ?? 0) || realOf(root) !== root) return null;
    const why = this.#whyNot(config, root);
    if (why !== null) {
      if (!this.#givenUp.has(why)) this.#options.log('info', why, { session });
      this.#givenUp.set(why, { until: 0, problem: why });
      return null;
    }
    try {
      const place = placeOfRoot(dataDir, session, root);
      noteStore(place, await this.#options.storeId());
      const run = runGitHeld(this.#options, new AbortController().signal);
      const git = sandbox.programs.at('git');
      const about = { session, position: stored.view.length };
      const means = { ...this.#options, place, git, run, about, trustsWatch };
      const snapshot = await takeSnapshot(means, lastSnapshotOf(stored, root));
      const isNamed = (waiting: readonly Hash[]) => findNamedPacks(stored, waiting);
      const sent = packs ? await sendNewPacks(this.#options, { session, place }, isNamed) : [];
      return {
        id: snapshot.id,
        described: { ...describeSnapshot(root, snapshot), ...(sent.length > 0 && { packs: sent }) },
      };
    } catch (error) {
      this.#giveUp(session, root, error);
      return null;
    }
  }

  /** Says what keeps a folder from being captured: git is missing, or a home lies in it unasked. */
  #whyNot({ snapshots = this.setting ?? false }: RunConfig, root: string): string | null {
    const { home, sandbox } = this.#options;
    if (!existsSync(sandbox.programs.at('git'))) return 'files are not captured, for git is not installed';
    if (snapshots) return null;
    if (!isInside(root, realOf(home) ?? home)) return null;
    return `files of ${root} are not captured, for the home folder lies in it: --snapshots captures them`;
  }

  /** One that takes too long does so again; a disk that is full may have room soon. */
  #giveUp(session: SessionId, root: string, error: unknown): void {
    const { log, now } = this.#options;
    const name = `${session} ${root}`;
    const problem = clip(onOneLine(reasonOf(error)), 300);
    if (this.#givenUp.get(name)?.problem !== problem)
      log('warn', `files of ${root} are not captured: ${problem}`, { session });
    const until = error instanceof OutOfBounds ? Number.POSITIVE_INFINITY : now() + AGAIN_MS;
    this.#givenUp.set(name, { until, problem });
  }
}

/** Returns the folders of a run of which none lies in another. */
function rootsOf({ cwd, folders = [] }: Pick<RunConfig, 'cwd' | 'folders'>): readonly string[] {
  const all = [...new Set([cwd, ...folders])];
  return all.filter((root) => !all.some((other) => other !== root && isInside(other, root)));
}

type UnjudgedEntries = { readonly fresh: readonly Entry[]; readonly isOwed: boolean };

/**
 * Finds the first entry that no stored capture has looked at, of those taken until `at`. A capture
 * that is stored with a reply was taken before that reply; one of a host that was left at will,
 * after all calls.
 */
function findUnjudged(view: View, at = Infinity): number {
  const isCapture = (entry: Entry | undefined): boolean => entry?.kind === 'files' && entry.at <= at;
  let position = view.length - 1;
  while (position >= 0 && !isCapture(view.at(position))) position -= 1;
  const captured = position;
  if (isOfMove(view.at(captured + 1))) return captured + 1;
  while (position > 0) {
    const kind = view.at((position -= 1))?.kind;
    if (kind === 'reply') return position;
    if (kind === 'run_ended' || kind === 'run_started') break;
  }
  return captured + 1;
}

const isOfMove = (entry: Entry | undefined): boolean =>
  entry?.kind === 'notice' && entry.notice.kind === 'host_changed' && entry.notice.because === 'moved';

/** Tells whether a call or an agent may have changed files, or a run has begun. */
function mayHaveChanged(means: Pick<SnapshotsOptions, 'tools'>, config: RunConfig, entries: readonly Entry[]): boolean {
  const isSign = (entry: Entry): boolean =>
    entry.kind === 'run_started' || (entry.kind === 'notice' && isAgentNotice(entry.notice));
  return entries.some((entry) => isSign(entry) || effectsIn(means, config, entry).length > 0);
}

/** Names the calls of a reply that may have changed files. */
function effectsIn({ tools }: Pick<SnapshotsOptions, 'tools'>, config: RunConfig, entry: Entry): readonly string[] {
  if (entry.kind !== 'reply') return [];
  return entry.message.content.flatMap((block, index) => {
    if (block.type !== 'tool_use') return [];
    const { id, name, input } = block;
    const { safe, plan } = tools.bind(config, { index, id, name, input }).traits();
    return !safe || plan === 'delegated' ? [name] : [];
  });
}

/** Looks through the transcript once. */
function findNamedPacks({ view, known }: StoredFiles, waiting: readonly Hash[]): ReadonlySet<Hash> {
  const left = new Set(waiting);
  for (const hash of known.flatMap(packsIn)) left.delete(hash);
  for (let position = view.length - 1; position >= 0 && left.size > 0; position -= 1) {
    const entry = view.at(position);
    for (const hash of entry ? packsIn(entry) : []) left.delete(hash);
  }
  return new Set(waiting.filter((hash) => !left.has(hash)));
}
