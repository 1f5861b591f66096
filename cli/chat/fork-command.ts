// Forks the session of a chat: a session of its own begins, and the chat goes on with the present
// one (T10).
import type { PerdureClient } from '../../client/perdure-client.ts';
import { oneLine } from '../../client/paint.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';

type Forking = {
  readonly sessions: Pick<PerdureClient, 'fork'>;
  readonly session: SessionId;
  readonly say: (line: string) => void;
};

/** Throws ClientProblem. */
export async function sayFork({ sessions, session, say }: Forking, prompt: string): Promise<void> {
  const fork = await sessions.fork(session, prompt === '' ? {} : { prompt });
  const where = fork.files ? `its files are in ${oneLine(fork.cwd, 300)}` : 'it works in the same folder';
  say(`forked: ${fork.session}, ${where}: continue there with \`perdure chat --session ${fork.session}\``);
}
