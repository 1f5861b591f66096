// When a server is ready: it answers, and its namespace is there and keeps what is closed for long
// enough.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { grpcFailure, tcpProbe } from '../../connection/connect-client.ts';
import { NAMESPACE, RETENTION_DAYS } from './server-args.ts';
import type { DataFolder } from '../../connection/data-folder.ts';
import { markComplete, recordServer, runningServer, type ServerRecord, findUnrecordedServer } from './server-record.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

const POLL_MS = 10;
const CALL_MS = 2_000;

export type Ready = { readonly kind: 'ready' } | { readonly kind: 'not_ready'; readonly why: string };

/** Tries until it is ready, `timeoutMs` are over, or `givenUp` says that it is of no use. */
export async function waitReady(
  address: string,
  timeoutMs: number,
  givenUp: () => boolean = () => false,
): Promise<Ready> {
  const deadline = Date.now() + timeoutMs;
  let why = 'nothing listens there';
  while (Date.now() < deadline && !givenUp()) {
    const problem = await tcpProbe(address, CALL_MS);
    if (problem === null) {
      try {
        await prepare(address);
        return { kind: 'ready' };
      } catch (error) {
        why = grpcFailure(error).why;
      }
    } else why = problem;
    await sleep(POLL_MS);
  }
  return { kind: 'not_ready', why };
}

/** Connecting calls getSystemInfo. Throws while the server is not ready. */
async function prepare(address: string): Promise<void> {
  // A channel of its own: one shared with this process's clients may be pausing after their last
  // refusal.
  const channelArgs = { 'grpc.use_local_subchannel_pool': 1, 'grpc.enable_http_proxy': 0 };
  const connection = Connection.lazy({ address, connectTimeout: CALL_MS, interceptors: [], channelArgs });
  try {
    await connection.ensureConnected();
    await connection.withDeadline(Date.now() + CALL_MS, () => keepClosedSessions(connection));
  } finally {
    await connection.close();
  }
}

async function keepClosedSessions({ workflowService }: Connection): Promise<void> {
  const { config } = await workflowService.describeNamespace({ namespace: NAMESPACE });
  const retention = msToTs(`${RETENTION_DAYS} days`);
  if (Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0) >= Number(retention.seconds)) return;
  await workflowService.updateNamespace({
    namespace: NAMESPACE,
    config: { workflowExecutionRetentionTtl: retention },
  });
}

// The server that already runs on a database, found and made sure of before anyone uses it.

/** Longer than a start takes on a busy machine: its starter may have been killed a moment ago. */
const ANSWER_MS = 15_000;

/**
 * Null when none runs. The caller holds the folder's lock, so that none can come meanwhile. Throws
 * SetupProblem when one runs and does not answer: another beside it would share its database.
 */
export async function readyServer(folder: DataFolder): Promise<ServerRecord | null> {
  const running = runningServer(folder) ?? recordFound(folder);
  if (running === null) return null;
  const gone = () => runningServer(folder) === null;
  const ready = await waitReady(running.address, ANSWER_MS, gone);
  if (ready.kind === 'ready') {
    markComplete(folder);
    return running;
  }
  if (gone()) return null;
  const remedy = `stop it with \`kill -9 ${running.pid}\` and try again`;
  throw new SetupProblem(
    `the Temporal server of ${folder.root}, process ${running.pid}, does not answer at ${running.address} (${ready.why}): ${remedy}`,
  );
}

function recordFound(folder: DataFolder): ServerRecord | null {
  const found = findUnrecordedServer(folder);
  if (found !== null) recordServer(folder, found);
  return found;
}
