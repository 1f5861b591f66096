// The embedded server as the product starts it, on a data folder of its own, with the product's worker and the floor's on it.
import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import { bundleWorkflowCode, DefaultLogger, NativeConnection, Worker } from '@temporalio/worker';
import { z } from 'zod';
import { defineTool } from '../activities/tools/tool.ts';
import { dataFolder } from '../worker/embedded/data-folder.ts';
import { findBinary } from '../worker/embedded/find-binary.ts';
import { joinServer } from '../worker/embedded/join-server.ts';
import { installRuntime } from '../worker/install-runtime.ts';
import { startWorker } from '../worker/start-worker.ts';
import type { MessageId } from '../workflows/contract/ids.ts';
import {
  MEMO_KEY,
  SIGNALS,
  WORKFLOW_TYPE,
  type SessionInput,
  type SessionMemo,
} from '../workflows/contract/session.ts';

export type BenchServer = {
  readonly client: Client;
  /** Runs the floor and returns its workflow id. */
  runFloor(turns: number): Promise<string>;
  /** Runs a session against the model at `url` to its end and returns its id. */
  runSession(url: string): Promise<string>;
  close(): Promise<void>;
};

export async function benchServer(say: (line: string) => void): Promise<BenchServer> {
  installRuntime(say);
  const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const folder = dataFolder({ PERDURE_DATA: join(root, 'data') });
  const { env } = process;
  const binary = (wanted: string | null) => findBinary({ env, wanted, say });
  const embedded = await joinServer({ folder, role: 'command', worker: true, env, binary, say });
  const { address } = embedded;
  const client = new Client({ connection: await Connection.connect({ address }) });
  const cwd = join(root, 'workspace');
  await mkdir(cwd);
  await writeFile(join(cwd, 'small.txt'), 'a small file\n');
  return {
    client,
    runFloor: (turns) => runFloor(client, address, turns),
    async runSession(url) {
      const taskQueue = `bench-${randomUUID()}`;
      const worker = await startWorker({
        address,
        namespace: 'default',
        storeDir: folder.storeDir,
        liveDir: folder.liveDir,
        dataDir: folder.root,
        env: { PATH: env.PATH, ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: url },
        warn: say,
        taskQueue,
        tools: [note],
        defaults: { permissionMode: 'bypass', maxTurns: 1_000_000 },
      });
      const id = await runSession(client, taskQueue, cwd);
      await worker.stop();
      return id;
    },
    async close() {
      await client.connection.close();
      await embedded.leave();
      await rm(root, { recursive: true, force: true });
    },
  };
}

/** An effectful call: claimed, run once, recorded. */
const note = defineTool({
  name: 'note',
  description: 'Append a line to notes.txt.',
  inputSchema: z.strictObject({ line: z.string() }),
  risk: 'write',
  recovery: 'report',
  call: async ({ line }, { cwd }) => {
    await appendFile(join(cwd, 'notes.txt'), `${line}\n`);
    return { content: 'noted' };
  },
});

async function runSession(client: Client, taskQueue: string, cwd: string): Promise<string> {
  const id = `bench-${randomUUID()}`;
  const input: SessionInput = { options: { cwd }, title: 'bench', visibility: true };
  await client.workflow.signalWithStart(WORKFLOW_TYPE, {
    workflowId: id,
    taskQueue,
    args: [input],
    signal: SIGNALS.message,
    signalArgs: [{ id: randomUUID() as MessageId, body: { kind: 'text', text: 'Begin.' } }],
    workflowTaskTimeout: '5s',
  });
  for (;;) {
    const memo = (await client.workflow.getHandle(id).describe()).memo?.[MEMO_KEY] as SessionMemo | undefined;
    if (memo?.last) {
      const { reason } = memo.last.terminal;
      if (reason !== 'completed') throw new Error(`the bench session ended with ${JSON.stringify(memo.last.terminal)}`);
      return id;
    }
    // Far apart: the bench must not measure its own polling.
    await sleep(1_000);
  }
}

async function runFloor(client: Client, address: string, turns: number): Promise<string> {
  const taskQueue = `floor-${randomUUID()}`;
  const connection = await NativeConnection.connect({ address });
  const workflowsPath = fileURLToPath(new URL('./floor-workflow.js', import.meta.url));
  const workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  const activities = { nothing: () => Promise.resolve() };
  const worker = await Worker.create({ connection, taskQueue, workflowBundle, activities, maxCachedWorkflows: 300 });
  const workflowId = `floor-${randomUUID()}`;
  await worker.runUntil(
    client.workflow.execute('floor', { workflowId, taskQueue, args: [turns], workflowTaskTimeout: '5s' }),
  );
  await connection.close();
  return workflowId;
}
