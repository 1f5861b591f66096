// Finds the session that `continue` means: the newest open one of the folder that this program can
// work on.
import type { PerdureConfig } from '../../index.ts';
import type { OpenedServer } from '../../face-types.ts';
import type { Env } from '../../../connection/data-folder.ts';
import { type ForWorkers, isForItsProgram } from '../../../workflows/contract/task-queue.ts';
import { forWorkersOf } from '../../../worker/config/queue.ts';
import { openWholeServer } from '../../runtime/open-server.ts';
import { openSessionsIn } from '../../sessions/find/in-folder.ts';
import type { ProgramQuery } from './program.ts';

/** The last session of this process by place, since the server may list it late. */
const lastSessions = new Map<string, string>();

type QueryPlace = { readonly root: string; readonly cwd: string; readonly config: PerdureConfig };

/**
 * Returns the workers that a new session of the program would be for, or null when only its own
 * program may work on it.
 */
const workersOf = (config: PerdureConfig): ForWorkers | null => forWorkersOf(config, { kind: 'given' }, '');

function placeOf({ root, cwd, config }: QueryPlace): string {
  return JSON.stringify([root, cwd, workersOf(config)?.taskQueue]);
}

export function rememberSession(where: QueryPlace, session: string): void {
  lastSessions.set(placeOf(where), session);
}

/**
 * `session` is null for a new one. Call `close` only once the session's own server is open, so that
 * a local server is not started twice.
 */
export type ContinuedSession = { readonly session: string | null; readonly close: () => Promise<void> };

/**
 * Finds the session to continue. A program that was killed goes on with the session that it found
 * before, even if newer ones have begun since.
 */
export async function findContinued(
  where: QueryPlace,
  program: Pick<ProgramQuery, 'session' | 'continuedSession' | 'noteContinued'>,
  open: { readonly env: Env; readonly say: (line: string) => void },
): Promise<ContinuedSession> {
  const known = program.continuedSession ?? lastSessions.get(placeOf(where));
  const opened = known === undefined ? await openWholeServer({ env: open.env, say: open.say }) : null;
  try {
    const session = known ?? (opened && (await findNewest(opened, where)));
    if (session === null) open.say(`there is no session of ${where.cwd} to continue: a new one begins`);
    if (program.continuedSession === undefined) program.noteContinued(session ?? program.session);
    return { session: session === program.session ? null : session, close: async () => opened?.close() };
  } catch (error) {
    await opened?.close();
    throw error;
  }
}

async function findNewest({ sessions }: OpenedServer, { cwd, config }: QueryPlace): Promise<string | null> {
  const workers = workersOf(config);
  for await (const { taskQueue, session } of openSessionsIn(sessions, cwd)) {
    const isFor = workers === null ? isForItsProgram({ taskQueue }, session) : taskQueue === workers.taskQueue;
    if (isFor) return session;
  }
  return null;
}
