// Stops a server that is provably the recorded one, and waits until it is gone.
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '../../system/process/identity.ts';
import type { ServerRecord } from './server-record.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { codeOf } from '../../system/text.ts';

/**
 * Milliseconds after SIGTERM, which closes the port within 20 ms. The second of draining that
 * follows is for a load balancer, which is missing here.
 */
const GRACE_MS = 200;
const KILL_MS = 5_000;
const POLL_MS = 5;

/**
 * Stops the server, by force if need be: every answered write is in the database's log, which
 * outlives a killed process. Throws SetupProblem when it cannot be killed.
 */
export async function stopServer(record: ServerRecord): Promise<void> {
  for (const [signal, ms] of [
    ['SIGTERM', GRACE_MS],
    ['SIGKILL', KILL_MS],
  ] as const) {
    if (!sendSignal(record, signal) || (await waitUntilGone(record, ms))) return;
  }
  throw new SetupProblem(
    `the Temporal server, process ${record.pid}, does not end: stop it with \`kill -9 ${record.pid}\``,
  );
}

/** Returns false when the server is gone already. */
function sendSignal(record: ServerRecord, signal: NodeJS.Signals): boolean {
  if (isAlive(record, 'here') !== 'alive') return false;
  try {
    process.kill(record.pid, signal);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    throw new SetupProblem(`cannot stop the Temporal server, process ${record.pid}: it belongs to another user`);
  }
}

async function waitUntilGone(record: ServerRecord, ms: number): Promise<boolean> {
  const deadline = Date.now() + ms;
  while (isAlive(record, 'here') === 'alive') {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
