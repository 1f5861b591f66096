// Finds the session that a returning person means: by its id or the beginning of it, as the newest
// of this folder, or by a choice from a list.
import type { SessionId } from '../../workflows/contract/ids.ts';
import { openWholeServer, type OpenedServer } from '../../client/runtime/open-server.ts';
import { openSessionsIn } from '../../client/sessions/find/in-folder.ts';
import type { SessionInfo } from '../../client/sessions/info.ts';
import { isWholeId, personAt, sessionArgument, sessionMeant } from '../arguments.ts';
import type { Cli } from '../cli.ts';
import { UsageError } from '../errors.ts';
import { sayProgress } from '../within-workplace.ts';
import { chooseSession } from './choose-session.ts';

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
  const given = wanted.kind === 'id' ? sessionArgument(wanted.id) : null;
  const opens = wanted.kind !== 'id' || wanted.opens === true;
  if (given !== null && isWholeId(given) && !opens)
    return { session: given, opened: null, close: () => Promise.resolve() };
  const say = sayProgress(cli);
  const opened = await openWholeServer({ env: cli.env, role: 'command', worker: false, say, ...personAt(cli) });
  try {
    const session = given !== null ? await sessionMeant(opened, given) : await sessionOfFolder(cli, opened, wanted);
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
