// Sessions whose calls wait for a person, with a worker of their own: the other sessions of the
// bench have none.
import { setTimeout as sleep } from 'node:timers/promises';
import { reply, startScriptedModel, toolUse } from '../../scripted-model/index.ts';
import { createClient } from '../../client/client.ts';
import type { OpenedServer } from '../../client/runtime/open-server.ts';
import { startWorker } from '../../worker/start-worker.ts';
import type { WaitingApproval } from '../../client/sessions/waiting-approval.ts';

const QUEUE = 'bench-decisions';

export type WaitingSessions = { readonly calls: readonly WaitingApproval[]; close(): Promise<void> };

/** Resolves when all of them wait. */
export async function startWaiting(
  opened: OpenedServer,
  env: NodeJS.ProcessEnv,
  { cwd, count }: { readonly cwd: string; readonly count: number },
): Promise<WaitingSessions> {
  const toolCall = reply([toolUse('write', { path: 'asked.txt', content: 'one' })]);
  const model = await startScriptedModel({
    script: ({ messages }) => (JSON.stringify(messages).includes('tool_result') ? reply('Done.') : toolCall),
  });
  const { storePlace, liveDir, root: dataDir } = opened.folder;
  const own = { ...env, ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: model.url };
  const worker = await startWorker({
    ...opened.target,
    storePlace,
    liveDir,
    dataDir,
    env: own,
    taskQueue: QUEUE,
    log: () => undefined,
  });
  const sealed = opened.target.keys !== undefined;
  const client = createClient({ temporal: opened.temporal.client, env, taskQueue: QUEUE, profile: 'machine', sealed });
  for (let at = 0; at < count; at += 1) await client.start(`Ask first, ${at}`, { cwd, permissionMode: 'default' });
  let calls: readonly WaitingApproval[] = [];
  while (calls.length < count) {
    await sleep(100);
    calls = await client.approvals();
  }
  return {
    calls,
    close: async () => {
      await worker.stop();
      await model.close();
    },
  };
}
