// A Temporal worker of a user's own, which knows nothing of agents: its activities and workflows
// are tools of one.
import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { Context, heartbeat } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import { inject, onTestFinished } from 'vitest';
import { createWorkerConverter } from '../../connection/payloads/data-converter.ts';
import type { KeyRing } from '../../connection/payloads/key-ring.ts';
import { oneRuntime } from './one-runtime.ts';

type Order = { readonly article: string };

/**
 * `started` holds the attempts of its activities; `deliver` goes on until the gate is open. `more`:
 * other activities of it.
 */
export async function usersWorker({
  keys,
  taskQueue = `users-${randomUUID()}`,
  more = {},
}: { keys?: KeyRing; taskQueue?: string; more?: Readonly<Record<string, () => Promise<unknown>>> } = {}) {
  oneRuntime();
  const started: string[] = [];
  const gate = { open: false };
  const connection = await NativeConnection.connect({ address: inject('temporalAddress') });
  const worker = await Worker.create({
    connection,
    taskQueue,
    workflowsPath: fileURLToPath(new URL('./user-workflows.mjs', import.meta.url)),
    ...(keys ? { dataConverter: createWorkerConverter(keys, () => {}) } : {}),
    activities: {
      ...more,
      shout: async (text: string) => text.toUpperCase(),
      async order({ article }: Order) {
        started.push(article);
        if (article === 'lamps' && Context.current().info.attempt === 1) throw new Error('the shop is busy');
        if (article === 'gold') throw ApplicationFailure.nonRetryable('there is no gold', 'SoldOut');
        return { article, number: started.length };
      },
      async deliver({ article }: Order) {
        started.push(article);
        const { cancelled } = Context.current();
        for (;;) {
          heartbeat();
          if (gate.open) return `delivered: ${article}`;
          await Promise.race([cancelled, new Promise((resolve) => setTimeout(resolve, 50))]);
        }
      },
    },
  });
  const done = worker.run();
  onTestFinished(async () => {
    worker.shutdown();
    await done;
    await connection.close();
  });
  return { taskQueue, started, gate };
}
