// A server that is not ours: whether it answers, and whether anyone works there.
import { connectClient, type Target } from '../../worker/embedded/connect-client.ts';
import { workerPolls } from '../connect/worker-polls.ts';
import { nobodyWorks } from '../connect/worker-words.ts';
import { forAnyWorker } from '../../worker/config/queue.ts';
import { type Check, missing, ok } from './check.ts';

/** Throws SetupProblem when it does not answer. */
export async function externalChecks(target: Target): Promise<readonly Check[]> {
  const { client, close } = await connectClient(target);
  try {
    const polls = await workerPolls({ temporal: client });
    return [
      ok('server', `${target.address}, namespace ${target.namespace}`),
      polls ? ok('workers', 'at least one polls') : missing('workers', nobodyWorks(forAnyWorker)),
    ];
  } finally {
    await close();
  }
}
