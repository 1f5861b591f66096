// The embedded server of a data folder: whether it runs, from which binary it would, and who works there.
import { connectClient } from '../../worker/embedded/connect-client.ts';
import type { DataFolder, Env } from '../../worker/embedded/data-folder.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { NAMESPACE } from '../../worker/embedded/server-args.ts';
import { runningServer, type ServerRecord, wantedVersion } from '../../worker/embedded/server-record.ts';
import { SetupProblem } from '../../worker/embedded/setup-problem.ts';
import { type Check, missing, note, ok } from './check.ts';

/** Throws SetupProblem for a data folder whose database cannot be used. */
export async function embeddedChecks(env: Env, folder: DataFolder): Promise<readonly Check[]> {
  const running = runningServer(folder);
  return [
    running === null ? await binary(env, folder) : ok('server binary', `${running.binary}, server ${running.server}`),
    running === null ? ok('server', 'not running: any command brings it up') : await answering(running),
    workers(folder),
  ];
}

/** What is on PATH or in the cache. The steps that would download or build one are not taken here. */
async function binary(env: Env, folder: DataFolder): Promise<Check> {
  try {
    const wanted = wantedVersion(folder);
    const { path, server } = await findBinary({ env, wanted, say: () => undefined, sources: [] });
    return ok('server binary', `${path}, server ${server}`);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return note('server binary', 'none yet: the first command downloads one, or builds it with Go in about 4 minutes');
  }
}

async function answering({ address, pid }: ServerRecord): Promise<Check> {
  try {
    const { close } = await connectClient({ address, namespace: NAMESPACE });
    await close();
    return ok('server', `runs at ${address}, pid ${pid}`);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return missing('server', `pid ${pid} runs and does not answer at ${address}: stop it with kill ${pid}`);
  }
}

function workers(folder: DataFolder): Check {
  const polling = livingMembers(folder).filter(({ worker }) => worker);
  const pids = polling.map(({ pid, role }) => `${role} ${pid}`).join(', ');
  return ok(
    'workers',
    polling.length > 0 ? pids : 'none: perdure run and watch bring their own, perdure dev and worker stay',
  );
}
