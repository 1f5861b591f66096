// The processes of hook commands by name. The name says which worker started them: of a worker that was killed (SIGKILL leaves no time to
// end anything) they are found by it before their work goes on elsewhere, whether or not the hook is asked again.
import { randomUUID } from 'node:crypto';
import { formatIdentity, isAlive, parseIdentity, processIdentity } from '../process/identity.ts';
import { CALL_VARIABLE } from '../process/environment.ts';
import { killTree } from '../process/kill-tree.ts';
import { allProcesses, startedWithValue } from '../process/proc.ts';

const PREFIX = 'hook/';

/** For CALL_VARIABLE, of one run of a command by this process. */
export function commandId(): string {
  return `${PREFIX}${formatIdentity(processIdentity())}/${randomUUID()}`;
}

/** Ends what is left of the commands of workers on this machine that are provably gone. A living worker ends its own. */
export async function endOrphans(): Promise<void> {
  const ids = allProcesses().map(({ pid }) => startedWithValue(pid, CALL_VARIABLE) ?? '');
  const orphaned = new Set(ids.filter(isOrphaned));
  await Promise.all([...orphaned].map((callId) => killTree({ callId }, { graceMs: 0 })));
}

function isOrphaned(id: string): boolean {
  if (!id.startsWith(PREFIX)) return false;
  const worker = parseIdentity(id.slice(PREFIX.length, id.lastIndexOf('/')));
  return worker !== null && isAlive(worker) === 'dead';
}
