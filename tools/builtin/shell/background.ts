// Commands in the background (L84): they belong to the worker that started them, and end with it,
// with their session, or by themselves. Each worker knows its own; it reads the files of those of
// other workers of this machine.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { atExit } from '../../../system/process/at-exit.ts';
import { processIdentity } from '../../../system/process/identity.ts';
import { killNow, killTree } from '../../../system/process/kill-tree.ts';
import { ownProcessId } from '../../../system/process/orphans.ts';
import type { ProcessTree } from '../../../system/process/spawn-tree.ts';
import { ToolFailure } from '../../failures.ts';
import {
  backgroundFolder,
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
  readonly held: boolean;
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
const MOST = 8;
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
const GRACE_MS = 1_500;
/** Milliseconds in which the worker of a command that was ended says so. */
const OWNER_MS = 5_000;

export function createBackground({ folder: root, held, lookMs = LOOK_MS }: BackgroundOptions): BackgroundCommands {
  sweepBackground(root, Date.now());
  const own = new Map<string, OwnCommand>();
  const exits = atExit(process);
  const folderOf = (session: string) => backgroundFolder(root, session);
  let looking: NodeJS.Timeout | null = null;

  const end = async (one: OwnCommand, by: NonNullable<OwnCommand['by']>): Promise<void> => {
    one.by ??= by;
    await killTree(
      { callId: one.mark, leader: one.tree.leader, fresh: true },
      { graceMs: GRACE_MS, spareLeader: held },
    );
    await Promise.race([one.ended, sleep(OWNER_MS)]);
  };
  const endAll = async (which: readonly OwnCommand[], by: NonNullable<OwnCommand['by']>): Promise<void> => {
    await Promise.all(which.map((one) => end(one, by)));
  };
  const endSession = async (session: string): Promise<void> => {
    const those = [...own.values()].filter((one) => one.session === session);
    if (those.length === 0) return;
    await endAll(those, 'session');
    folderOf(session).remove();
  };
  const look = async (): Promise<void> => {
    for (const session of new Set([...own.values()].map((one) => one.session))) {
      const last = [...own.values()].findLast((one) => one.session === session);
      if ((await last?.isOver?.()) === true) await endSession(session);
    }
  };
  const watch = (): void => {
    looking ??= setInterval(() => void look().catch(() => undefined), lookMs).unref();
  };
  const unwatch = (): void => {
    if (own.size > 0 || looking === null) return;
    clearInterval(looking);
    looking = null;
  };

  return {
    async start({ session, command, isOver, spawn }) {
      const files = folderOf(session);
      const id = `bg-${randomBytes(4).toString('hex')}`;
      const known = files.list();
      const running = known.filter((record) => !record.end);
      if (running.length >= MOST) {
        const ids = running.map((record) => record.id).join(', ');
        throw new ToolFailure(`Not started: ${MOST} commands run in the background already (${ids}). Stop one first.`);
      }
      const told = known.filter((record) => record.end && record.told !== undefined);
      for (const { id: old } of told.slice(0, -MOST_ENDED)) files.drop(old);
      const mark = ownProcessId('bash');
      const output = files.openOutput(id);
      let one: OwnCommand | null = null;
      const keep = (bytes: Uint8Array): void => {
        try {
          if (output.add(bytes) <= MOST_OUTPUT) return;
        } catch {
          // The disk is full: the rest could not be kept either.
        }
        if (one?.by === null) void end(one, 'output');
      };
      const tree = await spawn(mark, keep).catch((error: unknown) => {
        output.close();
        throw error;
      });
      const { leader } = tree;
      const record: BackgroundRecord = { id, command, mark, leader, owner: processIdentity(), startedAt: Date.now() };
      const forget = exits.add(() => killNow({ callId: mark, leader, fresh: true }));
      const finish = async (): Promise<void> => {
        const exit = await tree.exit;
        await Promise.race([tree.drained, sleep(DRAIN_MS)]);
        if (!held) await killTree({ callId: mark, leader, fresh: true }, { graceMs: GRACE_MS });
        tree.stopReading();
        output.close();
        forget();
        own.delete(mark);
        const by = one?.by ?? null;
        const how: BackgroundEnd = by === null ? { kind: 'exit', ...exit } : { kind: 'stopped', by };
        if (by !== 'session')
          files.write({ ...record, end: how, endedAt: Date.now(), ...(by === 'agent' && { told: 'known' }) });
        unwatch();
      };
      files.write(record);
      one = { session, tree, mark, isOver, by: null, ended: Promise.resolve() };
      own.set(mark, one);
      // No caller waits for the record of an end that cannot be written.
      one.ended = finish().catch(() => undefined);
      watch();
      return record;
    },
    output(session, id, since) {
      const files = folderOf(session);
      const record = files.read(id);
      return record && { record, part: files.readOutput(id, since, READ_BYTES) };
    },
    async stop(session, id) {
      const files = folderOf(session);
      const record = files.read(id);
      if (record === null || record.end) return record;
      const one = own.get(record.mark);
      if (one) await end(one, 'agent');
      else await killTree({ callId: record.mark, leader: record.leader }, { graceMs: GRACE_MS, spareLeader: held });
      for (let waited = 0; waited < OWNER_MS && !files.read(id)?.end; waited += DRAIN_MS) await sleep(DRAIN_MS);
      const ended = files.read(id) ?? record;
      if (ended.end && ended.told === undefined) files.write({ ...ended, told: 'known' });
      return ended;
    },
    news(session, since) {
      const files = folderOf(session);
      return files.list().flatMap((record) => {
        const { end: how, told } = record;
        if (!how || (told !== undefined && told !== since)) return [];
        if (told === undefined) files.write({ ...record, told: since });
        const { bytes } = files.readOutput(record.id, undefined, TOLD_BYTES);
        return [{ source: sourceName(record.id), text: describeEnded(record, how, bytes) }];
      });
    },
    endSession,
    async close() {
      await endAll([...own.values()], 'worker');
    },
  };
}
