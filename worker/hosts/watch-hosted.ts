// Finds the sessions that other hosts have taken over from this one while it was away (T19). What
// runs here for them ends, and their folders are captured as they are and stay in their places.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { readHostRecords } from '../../activities/hosts/host-record.ts';
import type { Deps, HostMeans } from '../../activities/deps.ts';
import { readChain } from '../../store/log/read-chain.ts';
import { knowledgeIn } from '../../store/snapshots/snapshot-points.ts';
import { type HostedSession, isLost } from '../../store/hosted-sessions.ts';
import { createLimit } from '../../system/async.ts';
import { clip, onOneLine, reasonOf } from '../../system/text.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import type { SessionHost } from '../../workflows/contract/session.ts';
import { locateSession, type SessionPlace } from './locate-session.ts';

export type HostParts = Pick<Deps, 'background' | 'log' | 'snapshots' | 'store'> & {
  readonly client: Client;
  readonly host: SessionHost;
  readonly hosts: HostMeans;
};

type HostWatch = {
  /** Stops without waiting for a look under way, which may be waiting for a server that is gone. */
  stop(): void;
};

/** `finished`: sessions that are over and whose notes stay: nothing of them changes any more. */
type Looking = HostParts & { readonly signal: AbortSignal; readonly finished: Set<SessionId> };

const LOOK_MS = 30_000;
/** The most sessions that are looked at together. */
const AT_ONCE = 8;
/** Anyone who reaches the server can write a memo. */
const LONGEST_NAME = 60;

/** Returns the parts of a worker that its host needs; null where machines share no store. */
export function hostPartsOf(deps: Deps, client: Client): HostParts | null {
  const { host, hosts } = deps;
  return host && hosts ? { ...deps, client, host, hosts } : null;
}

/** Looks at once, and again every 30 seconds. */
export function watchHosted(parts: HostParts): HostWatch {
  const stopped = new AbortController();
  const looking: Looking = { ...parts, signal: stopped.signal, finished: new Set() };
  const rounds = async (): Promise<void> => {
    let reported: string | null = null;
    for (let isFirst = true; ; isFirst = false) {
      const problem = await lookAtAll(looking, isFirst);
      if (problem !== null && problem !== reported && !stopped.signal.aborted)
        parts.log('warn', `it is not known which sessions have left this host: ${problem}; it looks again in 30 s`);
      reported = problem;
      await sleep(LOOK_MS, undefined, { signal: stopped.signal });
    }
  };
  // It ends only by being stopped: a look returns its problem.
  rounds().catch(() => {});
  return { stop: () => stopped.abort() };
}

/** The notes of this namespace: workers of others may share the data folder. */
export function listHosted({ hosts: { hosted }, client }: HostParts): readonly HostedSession[] {
  return hosted.list().filter(({ namespace }) => (namespace ?? client.options.namespace) === client.options.namespace);
}

/** Returns what kept it from looking at some session, or null. */
async function lookAtAll(looking: Looking, isFirst: boolean): Promise<string | null> {
  const limit = createLimit(AT_ONCE);
  let problem: string | null = null;
  const look = async (hosted: HostedSession): Promise<void> => {
    if (looking.signal.aborted) return;
    try {
      await lookAt(looking, hosted);
    } catch (error) {
      problem = onOneLine(reasonOf(error));
    }
  };
  try {
    // It is enough to tidy up once.
    const notes = listHosted(looking).filter((one) => isFirst || !(isLost(one) || looking.finished.has(one.session)));
    await Promise.all(notes.map((hosted) => limit(() => look(hosted))));
  } catch (error) {
    problem = onOneLine(reasonOf(error));
  }
  return problem;
}

async function lookAt(looking: Looking, hosted: HostedSession): Promise<void> {
  const place = await findPlace(looking, hosted);
  if (place.kind === 'elsewhere' && !isLost(hosted)) return loseSession(looking, hosted);
  if (place.kind === 'over' || place.kind === 'unknown') await forgetEnded(looking, hosted, place);
}

/** A session that the server has forgotten may have moved before: then its record tells. */
async function findPlace({ client, host, store }: Looking, { session }: HostedSession): Promise<SessionPlace> {
  const place = await locateSession(client, host, session);
  if (place.kind !== 'unknown') return place;
  const last = (await readHostRecords(store, session)).records.at(-1);
  return last && last.host.id !== host.id ? { kind: 'elsewhere', host: last.host } : place;
}

async function loseSession(looking: Looking, hosted: HostedSession): Promise<void> {
  const { background, hosts, log, signal, snapshots } = looking;
  const { session, folders } = hosted;
  await background?.endSession(session);
  const [cwd = '', ...others] = folders;
  const captured: { readonly root: string; readonly id: string | null }[] = [];
  for (const root of snapshots?.rootsOf({ cwd, folders: others }) ?? folders)
    captured.push({ root, id: (await snapshots?.captureLeft(session, root)) ?? null });
  // It may have come back meanwhile.
  const place = await findPlace(looking, hosted);
  if (place.kind !== 'elsewhere' || signal.aborted) return;
  const known = hosts.hosted.read(session);
  if (!known || isLost(known)) return;
  const to = clip(onOneLine(place.host.name), LONGEST_NAME);
  hosts.hosted.noteLost(known, { at: Date.now(), to, snapshots: captured });
  const where = folders.join(', ');
  log('warn', `session ${session} works on host ${to} now: its folder ${where} is left as it is`, { session });
}

/** What a host was left with is listed as long as the transcript does not have it. */
async function forgetEnded(
  { hosts: { hosted }, store, finished }: Looking,
  { session, lost }: HostedSession,
  place: Extract<SessionPlace, { kind: 'over' | 'unknown' }>,
): Promise<void> {
  finished.add(session);
  if (lost && !lost.isForgotten) {
    const head = place.kind === 'over' ? place.head : null;
    const chain = head === null ? [] : await readChain(store, session, head);
    const known = chain.flatMap(({ segment }) => segment.entries.flatMap(knowledgeIn)).map(({ id }) => id);
    if (lost.snapshots.some(({ id }) => id === null || !known.includes(id))) return;
  }
  hosted.forget(session);
}
