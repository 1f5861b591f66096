// Reads the heartbeats of workers, which a server keeps for as long as a day: what each worker is,
// and whether it still works.
import type { Client } from '@temporalio/client';
import type { CommandPolicy } from '../tools/sandbox.ts';
import { GRPC, readGrpcFailure } from './grpc-failure.ts';

/** Milliseconds between the heartbeats of our own workers. */
export const HEARTBEAT_MS = 10_000;
/** Milliseconds without a new heartbeat after which a worker counts as gone. */
const SILENT_MS = 3 * HEARTBEAT_MS;
/** Milliseconds before a call to the server is given up. */
const CALL_MS = 5_000;
/** Milliseconds for which one answer serves all who ask. */
const HOLD_MS = 1_000;
const REFUSED_HOLD_MS = 60_000;
const PAGE = 1_000;

/** Our own workers name themselves so in their heartbeats. */
export const BEAT_NAME = 'perdure ';
/** Another name there says how commands of agents run. */
export const COMMANDS_NAME = 'perdure-commands ';

const POLICIES: readonly CommandPolicy[] = ['confined', 'refused', 'unconfined'];

export type WorkerBeat = {
  readonly identity: string;
  readonly queue: string;
  /** Perdure's version; null for a worker that does not say it. */
  readonly version: string | null;
  /** How commands of agents run there; null for a worker that does not say it. */
  readonly commands: CommandPolicy | null;
  /** `name:build` of its Worker Deployment; null for an unversioned worker. */
  readonly deployment: string | null;
  /** Slots for activities; null for a worker that sets no number. */
  readonly slots: { readonly used: number; readonly most: number } | null;
  /** Milliseconds since the epoch at which the last one came, as far as this process saw. */
  readonly at: number;
  /** False for a worker that has said that it ends, or was silent while this process looked. */
  readonly isLive: boolean;
  /** When it said that it ends; polls that began later are another worker's. */
  readonly endedAt: number | null;
};

type Answer = Awaited<ReturnType<Client['workflowService']['listWorkers']>>;
type Heartbeat = NonNullable<NonNullable<Answer['workersInfo']>[number]['workerHeartbeat']>;

/** WORKER_STATUS_RUNNING, whose enum comes with no package of ours. */
const RUNNING: unknown = 1;

/** When this process first saw a worker's newest heartbeat, and how far its clock is behind. */
type SeenBeat = { readonly beat: number; readonly since: number; readonly skew: number };

/**
 * Compares looks of this process, since the time in a heartbeat is by the clock of the worker's
 * machine.
 */
class BeatReader {
  readonly #client: Client;
  #changes = new Map<string, SeenBeat>();
  #last: { readonly answer: Promise<readonly WorkerBeat[] | null>; until: number } | null = null;

  constructor(client: Client) {
    this.#client = client;
  }

  read(): Promise<readonly WorkerBeat[] | null> {
    if (this.#last !== null && Date.now() < this.#last.until) return this.#last.answer;
    const pending = { answer: this.#ask(), until: Infinity };
    this.#last = pending;
    pending.answer.then(
      (beats) => (pending.until = Date.now() + (beats === null ? REFUSED_HOLD_MS : HOLD_MS)),
      () => (pending.until = 0),
    );
    return pending.answer;
  }

  async #ask(): Promise<readonly WorkerBeat[] | null> {
    const heartbeats: Heartbeat[] = [];
    const { namespace } = this.#client.options;
    let nextPageToken: Answer['nextPageToken'] = new Uint8Array();
    do {
      const request = { namespace, pageSize: PAGE, nextPageToken };
      const answer = await this.#client
        .withDeadline(Date.now() + CALL_MS, () => this.#client.workflowService.listWorkers(request))
        .catch(refusalOnly);
      if (answer === null) return null;
      heartbeats.push(...(answer.workersInfo ?? []).flatMap(({ workerHeartbeat }) => workerHeartbeat ?? []));
      ({ nextPageToken } = answer);
    } while (nextPageToken?.length > 0);
    const now = Date.now();
    const before = this.#changes;
    this.#changes = new Map();
    return heartbeats.map((one) => this.#note(one, before, now));
  }

  #note(heartbeat: Heartbeat, before: ReadonlyMap<string, SeenBeat>, now: number): WorkerBeat {
    const { workerInstanceKey, workerIdentity, taskQueue, heartbeatTime, status, plugins } = heartbeat;
    const { activityTaskSlotsInfo, deploymentVersion } = heartbeat;
    const key = workerInstanceKey ?? '';
    const beat = Number(heartbeatTime?.seconds ?? 0) * 1_000 + (heartbeatTime?.nanos ?? 0) / 1e6;
    const known = before.get(key);
    const isNew = known?.beat !== beat;
    const since = isNew ? now : known.since;
    const skew = known?.skew ?? (status === RUNNING ? skewOf(now - beat) : 0);
    this.#changes.set(key, { beat, since, skew });
    const afterName = (prefix: string): string | null =>
      plugins?.find(({ name }) => name?.startsWith(prefix))?.name?.slice(prefix.length) ?? null;
    const commands = afterName(COMMANDS_NAME);
    const used = activityTaskSlotsInfo?.currentUsedSlots ?? 0;
    const free = activityTaskSlotsInfo?.currentAvailableSlots ?? -1;
    return {
      identity: workerIdentity ?? '',
      queue: taskQueue ?? '',
      version: afterName(BEAT_NAME),
      commands: POLICIES.find((policy) => policy === commands) ?? null,
      deployment: formatVersion(deploymentVersion),
      slots: free < 0 || used + free === 0 ? null : { used, most: used + free },
      at: Math.min(beat, since),
      isLive: status === RUNNING && now - since < SILENT_MS,
      endedAt: status === RUNNING ? null : Math.min(beat + skew, since),
    };
  }
}

/** An unversioned worker has a build id of its own, and no deployment. */
function formatVersion(version: Heartbeat['deploymentVersion']): string | null {
  return version?.deploymentName ? `${version.deploymentName}:${version.buildId}` : null;
}

/** A worker at work sent its last heartbeat within the time between two: an older one is skewed. */
const skewOf = (age: number): number => (age >= 0 && age < HEARTBEAT_MS + CALL_MS ? 0 : age);

/** Returns null for an older server, and for one that lets us list no workers. */
function refusalOnly(error: unknown): null {
  const { code } = readGrpcFailure(error);
  if (code === GRPC.unimplemented || code === GRPC.permissionDenied) return null;
  throw error;
}

const readers = new WeakMap<object, BeatReader>();

/** Returns the heartbeats that the server keeps; null where it keeps none. */
export function readBeats(client: Client): Promise<readonly WorkerBeat[] | null> {
  const { workflowService } = client;
  const reader = readers.get(workflowService) ?? new BeatReader(client);
  readers.set(workflowService, reader);
  return reader.read();
}
