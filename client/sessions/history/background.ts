// Describes a session's background commands (L84): the ones its transcript mentions and, on the
// machine that ran them, their state and latest output.
// Reads the files of background commands without holding up the reader (L84): the page does so
// again and again.
import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type BackgroundRecord,
  listPieces,
  parseRecord,
  sessionFolderOf,
} from '../../../system/process/background-files.ts';
import {
  decodeOutput,
  describeCommand,
  describeCommandEnd,
  readStartedId,
  sourceName,
} from '../../../tools/builtin/shell/background-words.ts';
import { foldItems, type Item, type ItemFold, type OpenCalls, takeCalls } from './items.ts';

export type BackgroundCommand = {
  readonly id: string;
  readonly command: string;
  /** Number of the run in which it was started. */
  readonly run: number;
  /** Milliseconds since the epoch; null where its files are not on this machine. */
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly running: boolean;
  /** A phrase: "is running", "has ended with exit status 4". */
  readonly state: string;
  /** The end of its output; empty when nothing is known here. */
  readonly last: string;
};

/** Number of commands to describe, the newest ones of a session. */
const MOST = 16;
const LAST_BYTES = 2_000;

/** `told` is the last state that the model was told. */
export type BackgroundStart = Pick<BackgroundCommand, 'id' | 'command' | 'run'> & { readonly told: string | null };

/**
 * Describes the commands as they are now. `closed`: the session is over, and with it any command it
 * had left running. `previous`: earlier descriptions; a command that had ended there is not read
 * again.
 */
export function backgroundCommands(
  started: readonly BackgroundStart[],
  files: BackgroundReader,
  closed: boolean,
  previous: readonly BackgroundCommand[] = [],
): Promise<readonly BackgroundCommand[]> {
  const finished = new Map(previous.filter(({ endedAt }) => endedAt !== null).map((one) => [one.id, one]));
  return Promise.all(
    started.map(async (one) => finished.get(one.id) ?? (await describeCommandState(one, files, closed))),
  );
}

type Started = BackgroundStart & { told: string | null };
type Found = { readonly calls: OpenCalls; readonly started: Started[] };

const background: ItemFold<Found> = {
  begin: () => ({ calls: new Map(), started: [] }),
  add({ calls, started }, item) {
    for (const { call, outcome } of takeCalls(calls, item).ended) {
      const { command, background: isBackground } = call.input;
      const id = call.name === 'bash' ? readStartedId(outcome.content) : null;
      // Any other command may print the same words.
      if (id === null || isBackground !== true || typeof command !== 'string') continue;
      started.push({ id, command, run: call.reply.run, told: null });
      if (started.length > MOST) started.shift();
    }
    for (const one of started) {
      const state = findReportedState(item, one);
      if (state !== undefined) one.told = state;
    }
  },
};

/** Finds the background commands in a transcript, oldest first. */
export function findBackgroundCommands(items: readonly Item[]): readonly BackgroundStart[] {
  return foldItems(background, items).started.map((one) => ({ ...one }));
}

/**
 * Returns the state that an item tells the model, in the words of the tools; undefined when it
 * tells of something else.
 */
function findReportedState({ entry }: Item, { id, command }: BackgroundStart): string | null | undefined {
  const begins = `${describeCommand({ id, command })} `;
  const stands = (text: string): string | null => {
    if (!text.startsWith(begins)) return null;
    const [line = ''] = text.slice(begins.length).split('\n', 1);
    return line.replace(/\.(?: The end of its output:| It wrote nothing that is kept\.)?$/, '');
  };
  if (entry.kind === 'notice' && entry.notice.kind === 'attachment' && entry.notice.source === sourceName(id))
    return stands(entry.notice.text);
  if (entry.kind !== 'outcomes') return undefined;
  const outcome = entry.outcomes.findLast(
    ({ log, content }) => log.name.startsWith('bash_') && content.startsWith(begins),
  );
  return outcome && stands(outcome.content);
}

async function describeCommandState(
  { told: reported, ...started }: BackgroundStart,
  files: BackgroundReader,
  closed: boolean,
): Promise<BackgroundCommand> {
  const record = await files.read(started.id);
  if (record === null) {
    const finalState = reported !== null && !reported.startsWith('is running') ? reported : null;
    const state = finalState ?? (closed ? 'ended with its session, if not before' : 'is not known on this machine');
    return { ...started, startedAt: null, endedAt: null, running: false, state, last: '' };
  }
  const { startedAt, endedAt = null, end } = record;
  const state = end ? describeCommandEnd(end) : 'is running';
  const last = decodeOutput(await files.lastOf(started.id, LAST_BYTES)).trim();
  return { ...started, startedAt, endedAt, running: !end, state, last };
}

/** Reads the background commands of one session. */
export type BackgroundReader = {
  /** Returns null for a command that is unknown on this machine. */
  read(id: string): Promise<BackgroundRecord | null>;
  /** Returns the last bytes that the command wrote, or an empty buffer when its files are gone. */
  lastOf(id: string, most: number): Promise<Buffer>;
};

export function backgroundReader(root: string, session: string): BackgroundReader {
  const folder = sessionFolderOf(root, session);
  return {
    async read(id) {
      try {
        return parseRecord(await readFile(join(folder, `${id}.json`), 'utf8'));
      } catch {
        // The file is missing or no longer ours, so the command counts as unknown.
        return null;
      }
    },
    async lastOf(id, most) {
      try {
        const pieces = listPieces(await readdir(folder), id).slice(-2);
        const parts = await Promise.all(pieces.map((piece) => readEnd(join(folder, `${id}.${piece}`), most)));
        return Buffer.concat(parts).subarray(-most);
      } catch {
        // The session has ended meanwhile, and its files went with it.
        return Buffer.alloc(0);
      }
    },
  };
}

async function readEnd(path: string, most: number): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    const length = Math.min(size, most);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, size - length);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}
