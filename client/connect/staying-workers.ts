// How many workers there are that stay, without joining or starting anything.
import { dataFolder, type Env } from '../../worker/embedded/data-folder.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { resolveConnection } from '../../worker/embedded/resolve-connection.ts';

/** On the embedded server; those of a server that is not ours are not counted, and Infinity says so. Throws SetupProblem. */
export function stayingWorkers(env: Env): number {
  if (resolveConnection(env).kind === 'external') return Infinity;
  return livingMembers(dataFolder(env)).filter(({ worker, role }) => worker && role !== 'command').length;
}
