// Waits until a server is ready: it answers, and its namespace exists and keeps closed sessions for
// long enough.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time.js';
import { readGrpcFailure } from '../../connection/grpc-failure.ts';
import { probeTcp } from '../../connection/connect-client.ts';
import { NAMESPACE, RETENTION_DAYS } from './server-args.ts';
import type { DataFolder } from '../../connection/data-folder.ts';
import {
  findRunningServer,
  findUnrecordedServer,
  markComplete,
  recordServer,
  type ServerRecord,
} from './server-record.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

const POLL_MS = 10;
const CALL_MS = 2_000;

export type Ready = { readonly kind: 'ready' } | { readonly kind: 'not_ready'; readonly why: string };

/**
 * Tries until the server is ready, `timeoutMs` are over, or `givenUp` says that waiting is of no
 * use.
 */
export async function waitReady(
  address: string,
  timeoutMs: number,
  givenUp: () => boolean = () => false,
): Promise<Ready> {
  const deadline = Date.now() + timeoutMs;
  let why = 'nothing listens there';
  while (Date.now() < deadline && !givenUp()) {
    const problem = await probeTcp(address, CALL_MS);
    if (problem === null) {
      try {
        await prepareNamespace(address);
        return { kind: 'ready' };
      } catch (error) {
        why = readGrpcFailure(error).why;
      }
    } else why = problem;
    await sleep(POLL_MS);
  }
  return { kind: 'not_ready', why };
}

/**
 * Connects, which calls getSystemInfo, and prepares the namespace. Throws while the server is not
 * ready.
 */
async function prepareNamespace(address: string): Promise<void> {
  // It uses a channel of its own: one shared with this process's clients may be pausing after their
  // last refusal.
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

/**
 * Milliseconds, longer than a start takes on a busy machine: its starter may have been killed a
 * moment ago.
 */
const ANSWER_MS = 15_000;

/**
 * Finds the server that already runs on a database, and makes sure of it before it is used.
 * Resolves to null when no server runs. The caller holds the folder's lock, so that none can come
 * meanwhile. Throws SetupProblem when one runs and does not answer: another one would share its
 * database.
 */
export async function findReadyServer(folder: DataFolder): Promise<ServerRecord | null> {
  const running = findRunningServer(folder) ?? findAndRecord(folder);
  if (running === null) return null;
  const hasEnded = () => findRunningServer(folder) === null;
  const ready = await waitReady(running.address, ANSWER_MS, hasEnded);
  if (ready.kind === 'ready') {
    markComplete(folder);
    return running;
  }
  if (hasEnded()) return null;
  const remedy = `stop it with \`kill -9 ${running.pid}\` and try again`;
  throw new SetupProblem(
    `the Temporal server of ${folder.root}, process ${running.pid}, does not answer at ${running.address} (${ready.why}): ${remedy}`,
  );
}

function findAndRecord(folder: DataFolder): ServerRecord | null {
  const found = findUnrecordedServer(folder);
  if (found !== null) recordServer(folder, found);
  return found;
}
