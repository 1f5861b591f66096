// How many workers there are that stay, without joining or starting anything.
import { dataFolder, type Env } from '../../worker/embedded/data-folder.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { resolveConnection } from '../../worker/embedded/resolve-connection.ts';

/** On the embedded server; null when the server is not ours: its workers are not known yet. Throws SetupProblem. */
export function stayingWorkers(env: Env): number | null {
  if (resolveConnection(env).kind === 'external') return null;
  return livingMembers(dataFolder(env)).filter(({ worker, role }) => worker && role !== 'command').length;
}
