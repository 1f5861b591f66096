// Joins the one server of all processes that use a data folder: the first to come starts it, the
// last to leave stops it. Both are decided under the folder's lock. A process that is killed leaves
// the server behind; the next to come takes it over, and when none comes a process beside the
// server stops it.
import type { Binary } from './find-binary.ts';
import type { DataFolder, Env } from '../../connection/data-folder.ts';
import { withFolderLock } from './folder-lock.ts';
import {
  livingMembers,
  type Member,
  registerMember,
  type Registration,
  type MemberRole,
  workersOf,
} from './members.ts';
import { findReadyServer } from './wait-ready.ts';
import type { KeyRing } from '../../connection/payloads/key-ring.ts';
import { NAMESPACE } from './server-args.ts';
import { openFolderKeys, findRunningServer, type ServerRecord, versionToMatch } from './server-record.ts';
import { startServer } from './start-server.ts';
import { recordWatched } from './start-watch.ts';
import { stopServer } from './stop-server.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

export type JoinServer = {
  readonly folder: DataFolder;
  readonly role: MemberRole;
  /** True when this process polls for tasks. */
  readonly worker: boolean;
  /** The queues that it works on; absent: the one that every worker that stays polls. */
  readonly queues?: readonly string[];
  readonly env: Env;
  /**
   * True starts Temporal's own UI, which has no authentication. Absent: the server runs as it is,
   * or without.
   */
  readonly ui?: boolean;
  /**
   * Called only when a server has to be started. `wanted` is the version that made the database,
   * null for a new one.
   */
  readonly binary: (wanted: string | null) => Promise<Binary>;
  /** Reports progress to a person, one line each. Details may be left out. */
  readonly say: (line: string, isDetail?: true) => void;
};

export type EmbeddedServer = {
  /** The options that it was joined with. */
  readonly options: JoinServer;
  /** host:port, which stays the same for as long as any process is joined. */
  readonly address: string;
  readonly namespace: string;
  /** Returns the address of the server's own UI, or null while it has none. */
  ui(): string | null;
  /** The keys that seal its payloads. */
  readonly keys: KeyRing;
  readonly startedHere: boolean;
  /** Aborts when this process begins to leave. */
  readonly left: AbortSignal;
  /**
   * Returns how many other living processes poll the queue and stay: those of role `dev` or
   * `worker`.
   */
  liveWorkers(taskQueue: string): number;
  /** Returns all that poll the queue, apart from this process's own registration. */
  otherWorkers(taskQueue: string): readonly Member[];
  /**
   * Tells other processes whether this one polls for tasks: true before it begins to, and false
   * before it stops to, so that they bring up a worker while it still finishes its work. `queues`
   * replaces the ones that it joined with. Harmless twice.
   */
  works(worker: boolean, queues?: readonly string[]): void;
  /**
   * Leaves, stops the server when no other process is joined, and resolves when it is gone.
   * Harmless twice.
   */
  leave(): Promise<void>;
};

/** Throws SetupProblem when no server can be joined or started. */
export async function joinServer(options: JoinServer): Promise<EmbeddedServer> {
  const { folder } = options;
  // The binary is got before the lock is taken, because it may have to be built.
  let binary = findRunningServer(folder) === null ? await options.binary(versionToMatch(folder)) : null;
  for (;;) {
    const joined = await withFolderLock(folder, () => joinLocked(options, binary));
    if (joined !== null) return joined;
    binary = await options.binary(versionToMatch(folder));
  }
}

/** Resolves to null when a server must be started and its binary is missing. */
async function joinLocked(options: JoinServer, binary: Binary | null): Promise<EmbeddedServer | null> {
  const { folder } = options;
  const running = await findSuitableServer(options);
  if (running !== null) {
    recordWatched(folder, running, options.env);
    return createEmbedded(options, running, registerMember(folder, options), false);
  }
  if (binary === null) return null;
  const keepPort = livingMembers(folder).length > 0;
  const record = await startServer({ ...options, binary, keepPort });
  return createEmbedded(options, record, registerMember(folder, options), true);
}

/** Resolves to null when a server must be started. An unused server makes way for one with a UI. */
async function findSuitableServer({ folder, ui = false }: JoinServer): Promise<ServerRecord | null> {
  const running = await findReadyServer(folder);
  if (running === null || !ui || running.ui !== undefined) return running;
  const users = livingMembers(folder).map(({ pid }) => pid);
  if (users.length > 0) throw runsWithoutUi(folder, users);
  await stopServer(running);
  return null;
}

function runsWithoutUi({ root }: DataFolder, users: readonly number[]): SetupProblem {
  const who = `${users.length === 1 ? 'process' : 'processes'} ${users.join(', ')}`;
  return new SetupProblem(
    `the Temporal server of ${root} runs without its UI, for ${who}: stop ${users.length === 1 ? 'that' : 'those'}, then start with --ui again`,
  );
}

function createEmbedded(
  options: JoinServer,
  record: ServerRecord,
  self: Registration,
  startedHere: boolean,
): EmbeddedServer {
  const { folder } = options;
  const keys = openFolderKeys(folder);
  const left = new AbortController();
  let leaving: Promise<void> | undefined;
  return {
    options,
    address: record.address,
    namespace: NAMESPACE,
    ui: () => findRunningServer(folder)?.ui ?? null,
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
        // A full disk must not keep a worker from starting or stopping; other processes then know
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
  const running = findRunningServer(folder);
  if (running !== null) await stopServer(running);
}
