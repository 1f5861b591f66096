// One server for all processes that use a data folder: the first to come starts it, the last to
// leave stops it. Both are decided under the folder's lock. A process that is killed leaves the
// server behind; the next to come takes it over.
import type { Binary } from './find-binary.ts';
import type { DataFolder, Env } from '../../connection/data-folder.ts';
import { withFolderLock } from './file-lock.ts';
import { livingMembers, type Member, register, type Registration, type Role, workersOf } from './members.ts';
import { readyServer } from './wait-ready.ts';
import type { KeyRing } from '../../connection/payloads/key-ring.ts';
import { NAMESPACE } from './server-args.ts';
import { folderKeys, runningServer, type ServerRecord, wantedVersion } from './server-record.ts';
import { startServer, stopServer } from './start-server.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

export type JoinServer = {
  readonly folder: DataFolder;
  readonly role: Role;
  /** This process polls for tasks. */
  readonly worker: boolean;
  /** It works on these queues; absent: on the one that every worker that stays polls. */
  readonly queues?: readonly string[];
  readonly env: Env;
  /** With Temporal's own UI, which asks nobody who they are. Absent: as it runs, or without. */
  readonly ui?: boolean;
  /**
   * Called only when a server has to be started. `wanted` is the version that made the database,
   * null for a new one.
   */
  readonly binary: (wanted: string | null) => Promise<Binary>;
  /** Progress for a person, one line each. */
  readonly say: (line: string) => void;
};

export type Embedded = {
  /** The options it was joined with. */
  readonly options: JoinServer;
  /** host:port, the same for as long as anyone is joined. */
  readonly address: string;
  readonly namespace: string;
  /** The address of the server's own UI; null: it has none now. */
  ui(): string | null;
  /** The keys that its payloads are sealed with. */
  readonly keys: KeyRing;
  readonly startedHere: boolean;
  /** Aborted when this process begins to leave. */
  readonly left: AbortSignal;
  /**
   * Other living processes that poll for tasks of the queue and stay: of role `dev` or `worker`.
   */
  liveWorkers(taskQueue: string): number;
  /** All that poll it, beside what this process registered when it joined. */
  otherWorkers(taskQueue: string): readonly Member[];
  /**
   * Tells other processes whether this one polls for tasks: true before it begins to, and false
   * before it stops to, so that they bring up a worker while it still finishes what it runs.
   * `queues`: other ones than it joined with. Harmless twice.
   */
  works(worker: boolean, queues?: readonly string[]): void;
  /** Stops the server when nobody else is joined, and resolves when it is gone. Harmless twice. */
  leave(): Promise<void>;
};

/** Throws SetupProblem when there is no server to join and none can be started. */
export async function joinServer(options: JoinServer): Promise<Embedded> {
  const { folder } = options;
  // Got before the lock is taken: it may have to be built.
  let binary = runningServer(folder) === null ? await options.binary(wantedVersion(folder)) : null;
  for (;;) {
    const joined = await withFolderLock(folder, () => joinLocked(options, binary));
    if (joined !== null) return joined;
    binary = await options.binary(wantedVersion(folder));
  }
}

/** Null when a server must be started and there is no binary yet. */
async function joinLocked(options: JoinServer, binary: Binary | null): Promise<Embedded | null> {
  const { folder } = options;
  const running = await serverThatWillDo(options);
  if (running !== null) return embedded(options, running, register(folder, options), false);
  if (binary === null) return null;
  const keepPort = livingMembers(folder).length > 0;
  const record = await startServer({ ...options, binary, keepPort });
  return embedded(options, record, register(folder, options), true);
}

/** Null: one must be started. A server that nobody uses any more makes way for one with a UI. */
async function serverThatWillDo({ folder, ui = false }: JoinServer): Promise<ServerRecord | null> {
  const running = await readyServer(folder);
  if (running === null || !ui || running.ui !== undefined) return running;
  const users = livingMembers(folder).map(({ pid }) => pid);
  if (users.length > 0) throw withoutUi(folder, users);
  await stopServer(running);
  return null;
}

function withoutUi({ root }: DataFolder, users: readonly number[]): SetupProblem {
  const who = `${users.length === 1 ? 'process' : 'processes'} ${users.join(', ')}`;
  return new SetupProblem(
    `the Temporal server of ${root} runs without its UI, for ${who}: stop ${users.length === 1 ? 'that' : 'those'}, then start with --ui again`,
  );
}

function embedded(options: JoinServer, record: ServerRecord, self: Registration, startedHere: boolean): Embedded {
  const { folder } = options;
  const keys = folderKeys(folder);
  const left = new AbortController();
  let leaving: Promise<void> | undefined;
  return {
    options,
    address: record.address,
    namespace: NAMESPACE,
    ui: () => runningServer(folder)?.ui ?? null,
    keys,
    startedHere,
    left: left.signal,
    liveWorkers: (taskQueue) => workersOf(folder, taskQueue, self.path).filter(({ role }) => role !== 'command').length,
    otherWorkers: (taskQueue) => workersOf(folder, taskQueue, self.path),
    works: (worker, queues) => {
      if (left.signal.aborted) return;
      try {
        self.works(worker, queues);
      } catch {
        // A disk that is full must not keep a worker from starting or stopping; then others know
        // only when it has left.
      }
    },
    leave: () => {
      left.abort();
      leaving ??= withFolderLock(folder, () => leaveLocked(folder, self));
      return leaving;
    },
  };
}

async function leaveLocked(folder: DataFolder, self: Registration): Promise<void> {
  self.remove();
  if (livingMembers(folder).length > 0) return;
  const running = runningServer(folder);
  if (running !== null) await stopServer(running);
}
