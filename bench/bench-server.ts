// The embedded server as the product starts it, on a data folder of its own, and what runs of a
// subject left there.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import { type DataFolder, openDataFolder } from '../connection/data-folder.ts';
import { createClientConverter } from '../connection/payloads/data-converter.ts';
import { findBinary } from '../worker/embedded/find-binary.ts';
import { joinServer } from '../worker/embedded/join-server.ts';
import { formatLog } from '../system/log.ts';
import { installRuntime } from '../worker/install-runtime.ts';
import type { MessageId } from '../workflows/contract/ids.ts';
import {
  MEMO_KEY,
  SIGNALS,
  WORKFLOW_TYPE,
  type SessionInput,
  type SessionMemo,
} from '../workflows/contract/session.ts';
import { profiles } from '../workflows/contract/profiles.ts';
import { present } from '../workflows/contract/present.ts';
import { spawnModel, spawnWorker } from './processes.ts';
import { fillFolder, makeWorkspace } from './fill-folder.ts';
import { type Floor, isFloor, type Subject } from './subjects.ts';
import type { Usage } from './worker-process.ts';

type Load = {
  readonly subject: Subject;
  /** At once, on one worker. */
  readonly sessions: number;
  readonly turns: number;
  /** Calls a turn; 1 when absent. */
  readonly width?: number;
  /** Sessions that are run before, so that what a young process takes is not measured. */
  readonly warmUp?: number;
  /** Milliseconds that the model takes for a reply; 0 when absent. */
  readonly answerMs?: number;
  /** Whether files are captured; absent: as the product does. */
  readonly snapshots?: boolean;
  /** Small files in the workspace of each session; none when absent. */
  readonly files?: number;
  /** Payloads are sealed, as the product does on a server of its own; without it they are plain. */
  readonly sealed?: boolean;
  /** Is told of each session at its start, and of its worker's process. */
  readonly started?: (session: string, worker: number) => Promise<void>;
  /** Is done with each session when it has ended, while its worker stays. */
  readonly afterwards?: (session: string) => Promise<void>;
};

type Ran = {
  readonly workflowIds: readonly string[];
  readonly before: Usage;
  readonly after: Usage;
  /**
   * Milliseconds between each reply's end and the request with its calls' outcomes, where one
   * session runs; of the floor none.
   */
  readonly gaps: readonly number[];
};

export type BenchServer = {
  readonly client: Client;
  readonly folder: DataFolder;
  /** Resolves when all sessions have ended and their worker is gone. */
  run(load: Load): Promise<Ran>;
  close(): Promise<void>;
};

/**
 * `bucket`: where sessions of the subject of that name keep their store; others keep it in a
 * folder.
 */
export async function benchServer(say: (line: string) => void, bucket?: string): Promise<BenchServer> {
  installRuntime((_, message, fields) => say(formatLog(message, fields)));
  const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const folder = openDataFolder({ PERDURE_DATA: join(root, 'data') });
  const { env } = process;
  const binary = (wanted: string | null) => findBinary({ env, wanted, say });
  const embedded = await joinServer({ folder, role: 'command', worker: true, env, binary, say });
  const { address } = embedded;
  const connection = await Connection.connect({ address });
  const client = new Client({ connection });
  const sealing = new Client({ connection, dataConverter: createClientConverter(embedded.keys) });
  const { storePlace, liveDir, root: dataDir } = folder;
  const place = { root, address, bucket, keys: folder.payloadKeys, folders: { storePlace, liveDir, dataDir } };
  return {
    client,
    folder,
    run: (load) => runLoad(load.sealed ? sealing : client, place, load),
    async close() {
      await client.connection.close();
      await embedded.leave();
      await rm(root, { recursive: true, force: true });
    },
  };
}

type BenchPlace = {
  readonly root: string;
  readonly address: string;
  readonly bucket: string | undefined;
  /** The file of the keys that seal payloads. */
  readonly keys: string;
  readonly folders: { readonly storePlace: string; readonly liveDir: string; readonly dataDir: string };
};

async function runLoad(client: Client, place: BenchPlace, load: Load): Promise<Ran> {
  const { root, address } = place;
  const { subject, sessions, turns, width = 1, warmUp = 0, answerMs, snapshots, files = 0, sealed = false } = load;
  const taskQueue = `bench-${randomUUID()}`;
  const model = isFloor(subject) ? null : await spawnModel(subject, { turns, width, answerMs });
  const folders = subject === 'bucket' && place.bucket ? { ...place.folders, storePlace: place.bucket } : place.folders;
  const worker = await spawnWorker({
    address,
    taskQueue,
    model: model?.url ?? null,
    folders,
    isSampled: sessions === 1,
    ...present({ snapshots }),
    ...(sealed && { keys: place.keys }),
  });
  const runAll = async (count: number): Promise<readonly string[]> => {
    const each = async (): Promise<string> => {
      if (isFloor(subject)) return startFloor(client, subject, { taskQueue, turns });
      const id = await startSession(client, taskQueue, { root, files, sealed });
      await load.started?.(id, worker.pid);
      return id;
    };
    const ids = await Promise.all(Array.from({ length: count }, each));
    for (const id of ids) await ended(client, id);
    return ids;
  };
  try {
    await runAll(warmUp);
    await model?.gaps();
    const before = await worker.usage();
    const workflowIds = await runAll(sessions);
    const after = await worker.usage();
    for (const id of workflowIds) await load.afterwards?.(id);
    return { workflowIds, before, after, gaps: (await model?.gaps()) ?? [] };
  } finally {
    await worker.stop();
    await model?.stop();
  }
}

export async function startSession(
  client: Client,
  taskQueue: string,
  { root, files, sealed }: { readonly root: string; readonly files: number; readonly sealed: boolean },
): Promise<string> {
  const workflowId = `bench-${randomUUID()}`;
  const cwd = join(root, workflowId);
  await makeWorkspace(cwd);
  await fillFolder(cwd, files);
  const input: SessionInput = { options: { cwd }, title: 'bench', visibility: true, ...(sealed && { sealed }) };
  await client.workflow.signalWithStart(WORKFLOW_TYPE, {
    workflowId,
    taskQueue,
    args: [input],
    signal: SIGNALS.message,
    signalArgs: [{ id: randomUUID() as MessageId, body: { kind: 'text', text: 'Begin.' } }],
    workflowTaskTimeout: profiles.machine.workflowTask,
  });
  return workflowId;
}

async function startFloor(
  client: Client,
  floor: Floor,
  { taskQueue, turns }: { readonly taskQueue: string; readonly turns: number },
): Promise<string> {
  const workflowId = `floor-${randomUUID()}`;
  await client.workflow.start(floor, {
    workflowId,
    taskQueue,
    args: [turns],
    workflowTaskTimeout: profiles.machine.workflowTask,
  });
  return workflowId;
}

async function ended(client: Client, id: string): Promise<void> {
  for (;;) {
    const { status, memo } = await client.workflow.getHandle(id).describe();
    const last = (memo?.[MEMO_KEY] as SessionMemo | undefined)?.last;
    if (last && last.terminal.reason !== 'completed')
      throw new Error(`the bench session ended with ${JSON.stringify(last.terminal)}`);
    if (last || status.name === 'COMPLETED') return;
    // Far apart: the bench must not measure its own polling.
    await sleep(1_000);
  }
}
