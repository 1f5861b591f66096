// Stops a server that is provably the recorded one, and waits until it is gone.
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive, type ProcessIdentity } from '../../system/process/identity.ts';
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
export async function stopServer(server: ProcessIdentity): Promise<void> {
  for (const [signal, ms] of [
    ['SIGTERM', GRACE_MS],
    ['SIGKILL', KILL_MS],
  ] as const) {
    if (!sendSignal(server, signal) || (await waitUntilGone(server, ms))) return;
  }
  throw new SetupProblem(
    `the Temporal server, process ${server.pid}, does not end: stop it with \`kill -9 ${server.pid}\``,
  );
}

/** Returns false when the server is gone already. */
function sendSignal(server: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (isAlive(server, 'here') !== 'alive') return false;
  try {
    process.kill(server.pid, signal);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ESRCH') return false;
    throw new SetupProblem(`cannot stop the Temporal server, process ${server.pid}: it belongs to another user`);
  }
}

async function waitUntilGone(server: ProcessIdentity, ms: number): Promise<boolean> {
  const deadline = Date.now() + ms;
  while (isAlive(server, 'here') === 'alive') {
    if (Date.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}
