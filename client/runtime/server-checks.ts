// Checks the server for `perdure doctor`: the embedded one of a data folder, or one that is not
// ours.
import type { Client } from '@temporalio/client';
import type { DataFolder, Env } from '../../connection/data-folder.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { connectClient, type Target } from '../../connection/connect-client.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { NAMESPACE } from '../../worker/embedded/server-args.ts';
import { findRunningServer, type ServerRecord, versionToMatch } from '../../worker/embedded/server-record.ts';
import { describeNewer, newerSessions } from './newer.ts';
import { isQueuePolled } from '../sessions/worker-polls.ts';
import { describeNoWorker } from '../sessions/no-worker.ts';
import { type Check, missingCheck, noteCheck, okCheck } from './check.ts';
import { forAnyWorker } from '../../workflows/contract/task-queue.ts';

/**
 * Checks the embedded server of a data folder: whether it runs, from which binary, and which
 * workers it has. Throws SetupProblem for a data folder whose database cannot be used.
 */
export async function checkEmbedded(env: Env, folder: DataFolder): Promise<readonly Check[]> {
  const running = findRunningServer(folder);
  return [
    running === null
      ? await binaryCheck(env, folder)
      : okCheck('server binary', `${running.binary}, server ${running.server}`),
    ...(running === null ? [okCheck('server', 'not running: any command brings it up')] : await checkRunning(running)),
    workersCheck(folder),
  ];
}

/** Looks on PATH and in the cache; downloads and builds nothing. */
async function binaryCheck(env: Env, folder: DataFolder): Promise<Check> {
  try {
    const wanted = versionToMatch(folder);
    const { path, server } = await findBinary({ env, wanted, say: () => undefined, sources: [] });
    return okCheck('server binary', `${path}, server ${server}`);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return noteCheck(
      'server binary',
      'none yet: the first command downloads one, or builds it with Go in about 4 minutes',
    );
  }
}

async function checkRunning({ address, pid }: ServerRecord): Promise<readonly Check[]> {
  try {
    const { client, close } = await connectClient({ address, namespace: NAMESPACE });
    const newer = await newerCheck(client);
    await close();
    return [okCheck('server', `runs at ${address}, pid ${pid}`), ...newer];
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [missingCheck('server', `pid ${pid} runs and does not answer at ${address}: stop it with kill ${pid}`)];
  }
}

async function newerCheck(temporal: Client): Promise<readonly Check[]> {
  const newer = await newerSessions({ temporal });
  return newer.length === 0 ? [] : [noteCheck('sessions', `${describeNewer(newer)}: start the newer version`)];
}

function workersCheck(folder: DataFolder): Check {
  const polling = livingMembers(folder).filter(({ worker }) => worker);
  const pids = polling.map(({ pid, role }) => `${role} ${pid}`).join(', ');
  return okCheck(
    'workers',
    polling.length > 0 ? pids : 'none: perdure run and watch bring their own, perdure dev and worker stay',
  );
}

/**
 * Checks a server that is not ours: whether it answers, and whether a worker polls. Throws
 * SetupProblem when it does not answer.
 */
export async function checkExternal(target: Target): Promise<readonly Check[]> {
  const { client, close } = await connectClient(target);
  try {
    const polls = await isQueuePolled({ temporal: client });
    return [
      okCheck('server', `${target.address}, namespace ${target.namespace}`),
      polls ? okCheck('workers', 'at least one polls') : missingCheck('workers', describeNoWorker(forAnyWorker)),
      ...(await newerCheck(client)),
    ];
  } finally {
    await close();
  }
}
