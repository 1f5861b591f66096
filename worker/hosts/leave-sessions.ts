// Hands the sessions of a host that drains over to other hosts (D7). A session at rest moves at
// once, one at work before its next model call, so that this host serves their last steps
// meanwhile.
import { randomUUID } from 'node:crypto';
import { WorkflowUpdateFailedError } from '@temporalio/client';
import { livePollers } from '../../connection/worker-polls.ts';
import { isLost } from '../../store/hosted-sessions.ts';
import { createLimit, pause, startDeadline } from '../../system/async.ts';
import { onOneLine, reasonOf } from '../../system/text.ts';
import type { Moved, MoveRequest } from '../../workflows/contract/hosts.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import type { UpdateOnce } from '../../workflows/contract/steered.ts';
import { locateSession } from './locate-session.ts';
import { type HostParts, listHosted } from './watch-hosted.ts';

type Leaving = {
  /** The queues from which other hosts take sessions over. */
  readonly taskQueues: readonly string[];
  /** By which this process polls them. */
  readonly identity: string;
  /** Milliseconds after which those that have not moved stay. */
  readonly withinMs: number;
};

const LOOK_MS = 1_000;
/** The most sessions that are looked at, or move, together. */
const AT_ONCE = 8;

/**
 * Resolves when all sessions have left or cannot, or when the time is over. It logs a line for each
 * that stays, and never rejects: the host drains in any case.
 */
export async function leaveSessions(parts: HostParts, leaving: Leaving): Promise<void> {
  const { hosts, host, log } = parts;
  hosts.beginLeaving();
  const staying = new Map<SessionId, string>();
  const { signal, stop } = startDeadline(leaving.withinMs, new AbortController().signal);
  try {
    const left = await moveAll(parts, leaving, { staying, signal });
    if (left > 0) log('info', `${left} sessions have left host ${host.name}`);
  } catch (error) {
    log('warn', `sessions of host ${host.name} stay with it: ${onOneLine(reasonOf(error))}`);
  } finally {
    stop();
  }
  for (const [session, why] of staying)
    log('warn', `session ${session} stays with host ${host.name}: ${why}`, { session });
}

type MoveState = { readonly staying: Map<SessionId, string>; readonly signal: AbortSignal };

/** Returns how many sessions have left. */
async function moveAll(parts: HostParts, leaving: Leaving, { staying, signal }: MoveState): Promise<number> {
  const limit = createLimit(AT_ONCE);
  const problems = new Map<SessionId, string>();
  const requested = new Set<SessionId>();
  const hasOthers = await areOthersThere(parts, leaving);
  for (let isLast = false; ;) {
    const here = await listHere(parts);
    staying.clear();
    for (const session of here) staying.set(session, problems.get(session) ?? 'it has not moved in time');
    if (!hasOthers) for (const session of here) staying.set(session, 'no worker runs on another host');
    if (isLast || !hasOthers || here.every((session) => problems.has(session)))
      return [...requested].filter((session) => !staying.has(session)).length;
    for (const session of here.filter((one) => !requested.has(one))) {
      requested.add(session);
      void limit(() => requestMove(parts, session)).catch((error: unknown) => problems.set(session, refusalOf(error)));
    }
    isLast = !(await pause(LOOK_MS, signal));
  }
}

async function areOthersThere({ client }: HostParts, { taskQueues, identity: own }: Leaving): Promise<boolean> {
  const polls = taskQueues.map((taskQueue) => livePollers({ temporal: client, taskQueue, of: 'activities' }));
  return (await Promise.all(polls)).flat().some(({ identity }) => identity !== own);
}

/** Returns the open sessions whose folders are here, those included that are about to leave. */
async function listHere(parts: HostParts): Promise<readonly SessionId[]> {
  const limit = createLimit(AT_ONCE);
  const notes = listHosted(parts).filter((hosted) => !isLost(hosted));
  const places = await Promise.all(
    notes.map(({ session }) => limit(() => locateSession(parts.client, parts.host, session))),
  );
  return notes.flatMap(({ session }, at) => (isHere(places[at]?.kind) ? [session] : []));
}

const isHere = (kind: string | undefined): boolean => kind === 'here' || kind === 'unsettled';

/** Resolves when the session has moved, or will before its next step. It is sealed as a client's. */
async function requestMove({ client, host }: HostParts, session: SessionId): Promise<void> {
  const id = randomUUID();
  const by = `host ${host.name}, which drains`;
  const request: UpdateOnce<MoveRequest> = { update: UPDATES.move, id, at: Date.now(), asked: {}, by };
  const options = { args: [request], updateId: id } as { args: [UpdateOnce<MoveRequest>]; updateId: string };
  await client.workflow.getHandle(session).executeUpdate<Moved, [UpdateOnce<MoveRequest>]>(UPDATES.move, options);
}

function refusalOf(error: unknown): string {
  const cause = error instanceof WorkflowUpdateFailedError ? error.cause : error;
  return onOneLine(reasonOf(cause));
}
