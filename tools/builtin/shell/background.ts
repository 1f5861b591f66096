// Commands in the background (L84): they belong to the worker that started them, and end with it,
// with their session, or by themselves. Each worker knows its own; of those of other workers of
// this machine it reads the files.
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createExitHandlers } from '../../../system/process/at-exit.ts';
import { processIdentity } from '../../../system/process/identity.ts';
import { killNow, killTree } from '../../../system/process/kill-tree.ts';
import { ownProcessId } from '../../../system/process/orphans.ts';
import type { ProcessTree } from '../../../system/process/spawn-tree.ts';
import { onOneLine, quoteLines } from '../../../system/text.ts';
import { ToolFailure } from '../../failures.ts';
import { dropPartialEnd, dropPartialStart } from '../files/lines.ts';
import {
  openBackgroundFolder,
  sweepBackground,
  type BackgroundCommands,
  type BackgroundEnd,
  type BackgroundRecord,
  type StartBackground,
} from '../../../system/process/background-files.ts';
import { cleanText } from './output.ts';

type Options = {
  /** Where no command of an agent reaches. */
  readonly folder: string;
  /** By a sandbox whose processes end with its first. */
  readonly held: boolean;
  /** Milliseconds between two looks at whether sessions are over. */
  readonly lookMs?: number;
};

type Own = {
  readonly session: string;
  readonly tree: ProcessTree;
  readonly mark: string;
  readonly isOver: StartBackground['isOver'];
  by: Extract<BackgroundEnd, { kind: 'stopped' }>['by'] | null;
  ended: Promise<void>;
};

/** Of one session. */
const MOST = 8;
/**
 * Of one session, the newest of those whose end was told: what older ones wrote is dropped when
 * another begins.
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

export function createBackground({ folder: root, held, lookMs = LOOK_MS }: Options): BackgroundCommands {
  sweepBackground(root, Date.now());
  const own = new Map<string, Own>();
  const exits = createExitHandlers(process);
  const folderOf = (session: string) => openBackgroundFolder(root, session);
  let looking: NodeJS.Timeout | null = null;

  const end = async (one: Own, by: NonNullable<Own['by']>): Promise<void> => {
    one.by ??= by;
    await killTree(
      { callId: one.mark, leader: one.tree.leader, fresh: true },
      { graceMs: GRACE_MS, spareLeader: held },
    );
    await Promise.race([one.ended, sleep(OWNER_MS)]);
  };
  const endAll = async (which: readonly Own[], by: NonNullable<Own['by']>): Promise<void> => {
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
      let one: Own | null = null;
      const keep = (bytes: Uint8Array): void => {
        try {
          if (output.add(bytes) <= MOST_OUTPUT) return;
        } catch {
          // A full disk: what follows could not be kept either.
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
      // Nobody waits for the record of an end that cannot be written.
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
        return [{ source: sourceOf(record.id), text: wordEnd(record, how, bytes) }];
      });
    },
    endSession,
    async close() {
      await endAll([...own.values()], 'worker');
    },
  };
}

/**
 * Ends a command for a person: its worker writes down how it ended, and the model is told. Returns
 * null for one that is not known on this machine.
 */
export async function endCommand(root: string, session: string, id: string): Promise<BackgroundRecord | null> {
  const files = openBackgroundFolder(root, session);
  const record = files.read(id);
  if (record === null || record.end) return record;
  await killTree({ callId: record.mark, leader: record.leader }, { graceMs: GRACE_MS });
  for (let waited = 0; waited < OWNER_MS && !files.read(id)?.end; waited += DRAIN_MS) await sleep(DRAIN_MS);
  return files.read(id) ?? record;
}

// The words that the model is given about a command, and what people are shown of them.

export function wordStart(id: string): string {
  return `It runs in the background as ${id}, until it ends, bash_stop ends it, or this session ends. You are told when it has ended.`;
}

/** The id of the command that the result of a call says was started; null in any other. */
export function startedIn(result: string): string | null {
  const id = /^It runs in the background as (bg-[0-9a-f]{8}),/.exec(result)?.[1];
  return id !== undefined && result === wordStart(id) ? id : null;
}

/** The source that the end of a command is told by. */
export const sourceOf = (id: string): string => `command ${id} in the background`;

/** Cut where characters begin and end. */
export function textOf(bytes: Buffer): string {
  return cleanText(dropPartialEnd(dropPartialStart(bytes)));
}

function wordEnd(record: BackgroundRecord, how: BackgroundEnd, last: Buffer): string {
  const words = `${describeCommand(record)} ${describeEnd(how)}.`;
  const text = textOf(last).trim();
  return text === ''
    ? `${words} It wrote nothing that is kept.`
    : `${words} The end of its output:\n${quoteLines(text)}`;
}

/** Its beginning, on one line. */
export function describeCommand({ id, command }: Pick<BackgroundRecord, 'id' | 'command'>): string {
  const line = onOneLine(command).trim();
  return `${id} (${line.length > 100 ? `${line.slice(0, 100)}…` : line})`;
}

export function describeEnd(how: BackgroundEnd): string {
  switch (how.kind) {
    case 'exit':
      return how.code === null ? `was killed by ${how.signal}` : `has ended with exit status ${how.code}`;
    case 'lost':
      return 'is gone: its worker has died, and it with it. Start it again if it is needed';
    case 'stopped':
      return STOPPED[how.by];
  }
}

const STOPPED = {
  agent: 'was ended by bash_stop',
  session: 'was ended with its session',
  worker: 'was ended, for its worker was shut down. Start it again if it is needed',
  output: 'was ended, for no more of its output can be kept: it has written 1 GiB, or the disk is full',
} as const;
