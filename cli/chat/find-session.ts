// Finds the session that a returning person means: by its id or the beginning of it, as the newest
// of this folder, or by a choice from a list.
import type { SessionId, OpenedServer, LastWords, SessionInfo } from '../../client/faces/types.ts';
import { openWholeServer } from '../../client/faces/servers.ts';
import { openSessionsIn } from '../../client/faces/sessions.ts';
import { rowsText, shortAge } from '../../client/faces/basics.ts';
import { oneLine } from '../../client/faces/start.ts';
import { sessionTable, shortPhase } from '../../client/faces/lists.ts';
import { readLastWords } from '../../client/faces/history.ts';
import { isWholeId, personAt, sessionArgument, sessionMeant } from '../arguments.ts';
import type { Cli } from '../cli.ts';
import { UsageError } from '../errors.ts';
import { sayProgress } from '../within-workplace.ts';
import type { Picker } from '../typing/picker.ts';

export type Wanted =
  | {
      readonly kind: 'id';
      readonly id: string;
      /** A server is opened also where the id needs none to be found. */
      readonly opens?: boolean;
    }
  | { readonly kind: 'newest' | 'choose'; readonly cwd: string };

/** Close it after the session's own place is open, so that our server does not start twice. */
export type Found = {
  readonly session: SessionId;
  /** The server by which it was found; null where its id needed none. */
  readonly opened: OpenedServer | null;
  readonly close: () => Promise<void>;
};

/** Most sessions to offer, and most to look through for them. */
const OFFERED = 200;
const LOOKED_AT = 2_000;

/** Throws UsageError when there is no session, or none is chosen. */
export async function findSession(cli: Cli, wanted: Wanted): Promise<Found> {
  const argument = wanted.kind === 'id' ? sessionArgument(wanted.id) : null;
  const opens = wanted.kind !== 'id' || wanted.opens === true;
  if (argument !== null && isWholeId(argument) && !opens)
    return { session: argument, opened: null, close: () => Promise.resolve() };
  const say = sayProgress(cli);
  const opened = await openWholeServer({ env: cli.env, role: 'command', worker: false, say, ...personAt(cli) });
  try {
    const session =
      argument !== null ? await sessionMeant(opened, argument) : await sessionOfFolder(cli, opened, wanted);
    return { session, opened, close: () => opened.close() };
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function sessionOfFolder(cli: Cli, opened: OpenedServer, wanted: Wanted): Promise<SessionId> {
  const cwd = wanted.kind === 'id' ? '' : wanted.cwd;
  const there = await newestIn(opened.sessions, cwd, wanted.kind === 'newest' ? 1 : OFFERED);
  const [newest] = there;
  if (!newest) throw new UsageError(`there is no open session of ${cwd}: \`${cli.self}\` begins one`);
  return wanted.kind === 'newest' ? newest.session : chooseSession(cli, opened, there);
}

export async function newestIn(
  sessions: OpenedServer['sessions'],
  cwd: string,
  most: number,
): Promise<readonly SessionInfo[]> {
  const found: SessionInfo[] = [];
  for await (const info of openSessionsIn(sessions, cwd, LOOKED_AT)) {
    found.push(info);
    if (found.length === most) break;
  }
  return found;
}

/** Lines of the last reply in a preview. */
const LINES = 5;
/** Most sessions in a numbered table. */
const NUMBERED = 20;

/**
 * Lets a returning person choose among sessions: with arrows, a search and a preview, or by number
 * on a terminal that cannot be drawn on. Throws UsageError when none is chosen.
 */
async function chooseSession(cli: Cli, opened: OpenedServer, there: readonly SessionInfo[]): Promise<SessionId> {
  const left = new AbortController();
  const leave = (): void => left.abort();
  const input = cli.openInput?.({ submit: () => undefined, interrupt: leave, leave });
  try {
    const chosen = input?.choose
      ? await input.choose(sessionPicker(cli, opened, there), left.signal)
      : await chooseByNumber(cli, there.slice(0, NUMBERED), (words) => input?.ask(words, left.signal));
    const found = there.find(({ session }) => session === chosen);
    if (!found) throw new UsageError('no session chosen');
    return found.session;
  } finally {
    input?.close();
  }
}

async function chooseByNumber(
  { out, print }: Cli,
  there: readonly SessionInfo[],
  ask: (words: string) => Promise<string | null> | undefined,
): Promise<string | undefined> {
  const whole = { ...out, columns: () => null };
  const [heading = '', ...rows] = sessionTable(whole, there, Date.now()).trimEnd().split('\n');
  const lines = [`     ${heading}`, ...rows.map((row, at) => `${String(at + 1).padStart(3)}  ${row}`)];
  print(rowsText(out.columns(), lines.join('\n')));
  const line = (await ask('which one, by its number (Enter: 1): ')) ?? null;
  const number = line?.trim() === '' ? 1 : Number(line ?? Number.NaN);
  return there[number - 1]?.session;
}

function sessionPicker(cli: Pick<Cli, 'err'>, opened: OpenedServer, there: readonly SessionInfo[]): Picker {
  const now = Date.now();
  const items = there.map((session) => ({
    answer: session.session as string,
    label: oneLine(session.title, 200),
    about: `${shortPhase(session)} · ${shortAge(now - session.startedAt)}`,
    hidden: session.session,
  }));
  const preview = async (answer: string): Promise<readonly string[]> =>
    previewRows(cli, await readLastWords(opened, answer as SessionId));
  return { heading: 'Which session?', verb: 'continues it', items, preview };
}

function previewRows({ err }: Pick<Cli, 'err'>, { prompt, reply }: LastWords): readonly string[] {
  const lines = reply.split('\n').filter((line) => line.trim() !== '');
  return [
    `${err.bold('›')} ${prompt === null ? err.dim('(its text cannot be read)') : oneLine(prompt, 300)}`,
    ...lines.slice(-LINES).map((line) => err.dim(oneLine(line, 300))),
  ];
}
