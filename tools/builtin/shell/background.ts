// Commands in the background (L84): they belong to the worker that started them, and end with it,
// with their session, or by themselves. Each worker knows its own; it reads the files of those of
// other workers of this machine.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createExitHandlers, killNow, killTree, ownProcessId } from '../../../system/process/kill-tree.ts';
import { processIdentity } from '../../../system/process/identity.ts';
import type { ProcessTree } from '../../../system/process/spawn-tree.ts';
import { ToolFailure } from '../../failures.ts';
import {
  type BackgroundFolder,
  openBackgroundFolder,
  sweepBackground,
  type BackgroundCommands,
  type BackgroundEnd,
  type BackgroundRecord,
  type StartBackground,
} from '../../../system/process/background-files.ts';
import { sourceName, describeEnded } from './background-words.ts';

type BackgroundOptions = {
  /** A folder that no command of an agent reaches. */
  readonly folder: string;
  /** The sandbox ends all processes with its first one. */
  readonly hasPidNamespace: boolean;
  /** Milliseconds between two looks at whether sessions are over. */
  readonly lookMs?: number;
};

type OwnCommand = {
  readonly session: string;
  readonly tree: ProcessTree;
  readonly mark: string;
  readonly isOver: StartBackground['isOver'];
  by: Extract<BackgroundEnd, { kind: 'stopped' }>['by'] | null;
  ended: Promise<void>;
};

/** The most commands of one session. */
const MOST_RUNNING = 8;
/**
 * The most ended commands of one session, the newest of those whose end was told: the output of
 * older ones is dropped when another begins.
 */
const MOST_ENDED = 16;
/**
 * Bytes that one command may write in all: one that floods without end would keep its worker busy.
 */
const MOST_OUTPUT = 1024 ** 3;
/** Bytes of one answer, and of the end that is told. */
const READ_BYTES = 20_000;
const TOLD_BYTES = 1_000;
const LOOK_MS = 5_000;
const DRAIN_MS = 200;
/** Milliseconds between the polite end of a command and the hard one. */
export const GRACE_MS = 1_500;
/** Milliseconds in which the worker of a command that was ended says so. */
const OWNER_MS = 5_000;

export function createBackground(options: BackgroundOptions): BackgroundCommands {
  return new OwnCommands(options);
}

class OwnCommands implements BackgroundCommands {
  readonly #root: string;
  readonly #hasPidNamespace: boolean;
  readonly #lookMs: number;
  /** The running commands of this worker, by their mark. */
  readonly #own = new Map<string, OwnCommand>();
  readonly #exits = createExitHandlers(process);
  #looking: NodeJS.Timeout | null = null;

  constructor({ folder, hasPidNamespace, lookMs = LOOK_MS }: BackgroundOptions) {
    this.#root = folder;
    this.#hasPidNamespace = hasPidNamespace;
    this.#lookMs = lookMs;
    sweepBackground(folder, Date.now());
  }

  async start({ session, command, isOver, spawn }: StartBackground): Promise<BackgroundRecord> {
    const files = this.#folderOf(session);
    makeRoom(files);
    const id = `bg-${randomBytes(4).toString('hex')}`;
    const mark = ownProcessId('bash');
    const output = files.openOutput(id);
    let one: OwnCommand | null = null;
    const keep = (bytes: Uint8Array): void => {
      try {
        if (output.add(bytes) <= MOST_OUTPUT) return;
      } catch {
        // The disk is full: the rest could not be kept either.
      }
      if (one?.by === null) void this.#end(one, 'output');
    };
    const tree = await spawn(mark, keep).catch((error: unknown) => {
      output.close();
      throw error;
    });
    const { leader } = tree;
    const record: BackgroundRecord = { id, command, mark, leader, owner: processIdentity(), startedAt: Date.now() };
    const forget = this.#exits.add(() => killNow({ callId: mark, leader, fresh: true }));
    files.write(record);
    one = { session, tree, mark, isOver, by: null, ended: Promise.resolve() };
    this.#own.set(mark, one);
    const release = (): void => {
      output.close();
      forget();
    };
    // No caller waits for the record of an end that cannot be written.
    one.ended = this.#finish(one, record, release).catch(() => undefined);
    this.#watch();
    return record;
  }

  output(session: string, id: string, since: number | undefined): ReturnType<BackgroundCommands['output']> {
    const files = this.#folderOf(session);
    const record = files.read(id);
    return record && { record, part: files.readOutput(id, since, READ_BYTES) };
  }

  async stop(session: string, id: string): Promise<BackgroundRecord | null> {
    const files = this.#folderOf(session);
    const record = files.read(id);
    if (record === null || record.end) return record;
    const one = this.#own.get(record.mark);
    if (one) await this.#end(one, 'agent');
    else
      await killTree(
        { callId: record.mark, leader: record.leader },
        { graceMs: GRACE_MS, spareLeader: this.#hasPidNamespace },
      );
    const stored = await awaitEnd(files, id, record);
    if (stored.end && stored.told === undefined) files.write({ ...stored, told: 'known' });
    return stored;
  }

  news(session: string, since: number): ReturnType<BackgroundCommands['news']> {
    const files = this.#folderOf(session);
    return files.list().flatMap((record) => {
      const { end: how, told: reportedAt } = record;
      if (!how || (reportedAt !== undefined && reportedAt !== since)) return [];
      if (reportedAt === undefined) files.write({ ...record, told: since });
      const { bytes } = files.readOutput(record.id, undefined, TOLD_BYTES);
      return [{ source: sourceName(record.id), text: describeEnded(record, how, bytes) }];
    });
  }

  async endSession(session: string): Promise<void> {
    const those = [...this.#own.values()].filter((one) => one.session === session);
    if (those.length === 0) return;
    await this.#endAll(those, 'session');
    this.#folderOf(session).remove();
  }

  async close(): Promise<void> {
    await this.#endAll([...this.#own.values()], 'worker');
  }

  #folderOf(session: string): BackgroundFolder {
    return openBackgroundFolder(this.#root, session);
  }

  async #finish(one: OwnCommand, record: BackgroundRecord, release: () => void): Promise<void> {
    const { tree, mark, session } = one;
    const exit = await tree.exit;
    await Promise.race([tree.drained, sleep(DRAIN_MS)]);
    if (!this.#hasPidNamespace)
      await killTree({ callId: mark, leader: tree.leader, fresh: true }, { graceMs: GRACE_MS });
    tree.stopReading();
    release();
    this.#own.delete(mark);
    const { by } = one;
    const how: BackgroundEnd = by === null ? { kind: 'exit', ...exit } : { kind: 'stopped', by };
    if (by !== 'session')
      this.#folderOf(session).write({
        ...record,
        end: how,
        endedAt: Date.now(),
        ...(by === 'agent' && { told: 'known' }),
      });
    this.#unwatch();
  }

  async #end(one: OwnCommand, by: NonNullable<OwnCommand['by']>): Promise<void> {
    one.by ??= by;
    await killTree(
      { callId: one.mark, leader: one.tree.leader, fresh: true },
      { graceMs: GRACE_MS, spareLeader: this.#hasPidNamespace },
    );
    await Promise.race([one.ended, sleep(OWNER_MS)]);
  }

  async #endAll(which: readonly OwnCommand[], by: NonNullable<OwnCommand['by']>): Promise<void> {
    await Promise.all(which.map((one) => this.#end(one, by)));
  }

  /** Ends the commands of sessions that are over. */
  async #look(): Promise<void> {
    const all = [...this.#own.values()];
    for (const session of new Set(all.map((one) => one.session))) {
      const last = [...this.#own.values()].findLast((one) => one.session === session);
      if ((await last?.isOver?.()) === true) await this.endSession(session);
    }
  }

  #watch(): void {
    this.#looking ??= setInterval(() => void this.#look().catch(() => undefined), this.#lookMs).unref();
  }

  #unwatch(): void {
    if (this.#own.size > 0 || this.#looking === null) return;
    clearInterval(this.#looking);
    this.#looking = null;
  }
}

/** Waits until the worker of an ended command has written down how it ended. */
export async function awaitEnd(
  files: BackgroundFolder,
  id: string,
  record: BackgroundRecord,
): Promise<BackgroundRecord> {
  for (let waitedMs = 0; waitedMs < OWNER_MS && !files.read(id)?.end; waitedMs += DRAIN_MS) await sleep(DRAIN_MS);
  return files.read(id) ?? record;
}

/** Drops old outputs. Throws ToolFailure when the session runs as many commands as it may. */
function makeRoom(files: BackgroundFolder): void {
  const known = files.list();
  const running = known.filter((record) => !record.end);
  if (running.length >= MOST_RUNNING) {
    const ids = running.map((record) => record.id).join(', ');
    throw new ToolFailure(
      `Not started: ${MOST_RUNNING} commands run in the background already (${ids}). Stop one first.`,
    );
  }
  const reported = known.filter((record) => record.end && record.told !== undefined);
  for (const { id } of reported.slice(0, -MOST_ENDED)) files.drop(id);
}
