// Which session `continue` means: the newest of the folder that is open and that this program can
// work on.
import type { PerdureConfig } from '../../../worker/config/config.ts';
import type { Env } from '../../../connection/data-folder.ts';
import { type ForWorkers, isForItsProgram } from '../../../workflows/contract/task-queue.ts';
import { forWorkersOf } from '../../../worker/config/queue.ts';
import { type Opened, openServer } from '../../runtime/open-server.ts';
import { openSessionsIn } from '../../sessions/find/in-folder.ts';
import type { ProgramQuery } from './program.ts';

/** The last session of this process in each place: a list on the server may not have it yet. */
const lastOnes = new Map<string, string>();

type Where = { readonly root: string; readonly cwd: string; readonly config: PerdureConfig };

/** Null: sessions that are its program's alone. As for a session that the program would begin. */
const workersOf = (config: PerdureConfig): ForWorkers | null => forWorkersOf(config, { kind: 'given' }, '');

function placeOf({ root, cwd, config }: Where): string {
  return JSON.stringify([root, cwd, workersOf(config)?.taskQueue]);
}

export function rememberSession(where: Where, session: string): void {
  lastOnes.set(placeOf(where), session);
}

/**
 * `session` is null for a new one. To be closed once the session's own server is open, so that one
 * of ours is not started twice.
 */
export type Continued = { readonly session: string | null; readonly close: () => Promise<void> };

/**
 * A program that was killed goes on with the session that it found before, whatever has begun
 * since.
 */
export async function findContinued(
  where: Where,
  program: Pick<ProgramQuery, 'session' | 'continued' | 'continues'>,
  open: { readonly env: Env; readonly say: (line: string) => void },
): Promise<Continued> {
  const known = program.continued ?? lastOnes.get(placeOf(where));
  const opened = known === undefined ? await openServer({ env: open.env, say: open.say }) : null;
  try {
    const session = known ?? (opened && (await newestIn(opened, where)));
    if (session === null) open.say(`there is no session of ${where.cwd} to continue: a new one begins`);
    if (program.continued === undefined) program.continues(session ?? program.session);
    return { session: session === program.session ? null : session, close: async () => opened?.close() };
  } catch (error) {
    await opened?.close();
    throw error;
  }
}

async function newestIn({ sessions }: Opened, { cwd, config }: Where): Promise<string | null> {
  const workers = workersOf(config);
  for await (const { taskQueue, session } of openSessionsIn(sessions, cwd)) {
    const isFor = workers === null ? isForItsProgram({ taskQueue }, session) : taskQueue === workers.taskQueue;
    if (isFor) return session;
  }
  return null;
}
