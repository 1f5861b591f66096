// Names the processes that belong to a worker (hook commands, MCP servers, commands in the
// background, and its own helpers such as searches and git) after the worker that started them, and
// ends those of dead workers. SIGKILL leaves a worker no time to end anything: what did not end
// with it is found by its name before its work goes on elsewhere.
import { randomUUID } from 'node:crypto';
import { CALL_VARIABLE } from './environment.ts';
import { formatIdentity, isAlive, parseIdentity, processIdentity } from './identity.ts';
import { killTree } from './kill-tree.ts';
import { allProcesses, readStartVariable } from './proc.ts';

type Kind = 'bash' | 'helper' | 'hook' | 'mcp';

const PREFIX = /^(?:bash|helper|hook|mcp)\//;

/** Returns the value of CALL_VARIABLE for one process that this worker starts. */
export function ownProcessId(kind: Kind): string {
  return `${kind}/${formatIdentity(processIdentity())}/${randomUUID()}`;
}

/**
 * Ends the processes of workers on this machine that are provably gone. A living worker ends its
 * own.
 */
export async function endOrphans(): Promise<void> {
  const ids = allProcesses().map(({ pid }) => readStartVariable(pid, CALL_VARIABLE) ?? '');
  const orphaned = new Set(ids.filter(isOrphaned));
  await Promise.all([...orphaned].map((callId) => killTree({ callId }, { graceMs: 0 })));
}

function isOrphaned(id: string): boolean {
  if (!PREFIX.test(id)) return false;
  const worker = parseIdentity(id.replace(PREFIX, '').replace(/\/[^/]*$/, ''));
  return worker !== null && isAlive(worker) === 'dead';
}
