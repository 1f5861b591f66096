// Moves a session with its folders to another host (T20), where hosts share a store.
import type { Client } from '@temporalio/client';
import { readBeats } from '../../connection/worker-beats.ts';
import { isQueuePolled } from '../../connection/worker-polls.ts';
import type { Moved } from '../../workflows/contract/hosts.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { hostQueue, type SessionHost, UPDATES } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';
import type { ClientMeans } from './client-means.ts';
import type { ActOptions } from './waiting-approval.ts';
import { updateAndWait } from './updates/update.ts';

/** `host`: the PERDURE_HOST of the workers that are to take it; absent: any other. */
export type MoveOptions = ActOptions & { readonly host?: string };

/** Milliseconds: large folders take their time. */
const ANSWER_MS = 60 * 60_000;

/** Throws ClientProblem. */
export async function moveSession(
  means: ClientMeans,
  session: SessionId,
  { host, by }: MoveOptions & { readonly by: string },
): Promise<Moved> {
  const description = await means.lookAtOpen(session);
  const { temporal } = means.options;
  const to = host === undefined ? undefined : await findHost(temporal, description.taskQueue, host);
  const about = { temporal, session, name: UPDATES.move, arg: { ...(to && { to }) }, signed: { by } };
  return updateAndWait<Moved>({ ...about, workers: () => Promise.resolve(description) }, ANSWER_MS);
}

/** A session that waits for a host that is away would wait longer than before. */
async function findHost(temporal: Client, taskQueue: string, id: string): Promise<SessionHost> {
  const host = { id, name: id };
  if (await isQueuePolled({ temporal, taskQueue: hostQueue(taskQueue, host), of: 'activities' })) return host;
  const known = await listHosts(temporal, taskQueue);
  const others = known.length === 0 ? '' : `; workers run on ${known.join(', ')}`;
  throw new ClientProblem('refused', `No worker of this session runs on host ${id}${others}.`);
}

async function listHosts(temporal: Client, taskQueue: string): Promise<readonly string[]> {
  const [prefix, end] = hostQueue(taskQueue, { id: '/', name: '' }).split('/') as [string, string];
  const queues = ((await readBeats(temporal)) ?? []).filter(({ isLive }) => isLive).map(({ queue }) => queue);
  const hosts = queues.filter((queue) => queue.startsWith(prefix) && queue.endsWith(end));
  return [...new Set(hosts.map((queue) => queue.slice(prefix.length, -end.length)))].toSorted();
}
