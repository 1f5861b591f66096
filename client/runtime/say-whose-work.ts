// Tells a person who starts a worker whose work it also takes.
import type { OpenedServer } from './open-server.ts';
import { ClientProblem } from '../problem.ts';

/** Most sessions to name; the rest is counted. */
const MOST_NAMED = 5;

export type Taking = {
  readonly sessions: Pick<OpenedServer['sessions'], 'list'>;
  readonly queues: readonly string[];
  /** The session that the worker is brought up for. */
  readonly session?: string | undefined;
  readonly say: (line: string) => void;
};

/**
 * Tells whose work a new worker takes up in addition. Call it before the worker polls, while
 * sessions of its queues still wait. Says nothing when the server does not answer.
 */
export async function sayWhoseWork({ sessions, queues, session, say }: Taking): Promise<void> {
  const others: string[] = [];
  try {
    for await (const info of sessions.list({ open: true }))
      if (info.phase === 'waiting_worker' && info.session !== session && queues.includes(info.taskQueue))
        others.push(info.session);
  } catch (error) {
    if (!(error instanceof ClientProblem)) throw error;
    return;
  }
  if (others.length === 0) return;
  const more = others.length > MOST_NAMED ? ` and ${others.length - MOST_NAMED} more` : '';
  say(`also working on ${others.slice(0, MOST_NAMED).join(', ')}${more}, which waited for a worker`);
}
