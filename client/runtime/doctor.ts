// Looks at everything a session needs on this machine.
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import type { Client } from '@temporalio/client';
import { probeSandbox } from '../../tools/sandbox.ts';
import { openLive } from '../../store/live/open-live.ts';
import { addressWithoutSecrets } from '../../store/live/redis-problems.ts';
import { openStore } from '../../store/values/open-store.ts';
import type { Sealing } from '../../store/values/s3/record-seal.ts';
import { StoreError } from '../../store/values/store.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { type DataFolder, openDataFolder, type Env } from '../../connection/data-folder.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf } from '../../system/text.ts';
import { connectClient, type Target } from '../../connection/connect-client.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { NAMESPACE } from '../../worker/embedded/server-args.ts';
import { findRunningServer, type ServerRecord, versionToMatch } from '../../worker/embedded/server-record.ts';
import { describeNewer, newerSessions } from './newer.ts';
import { workerPolls, describeNoWorker } from '../sessions/worker-polls.ts';
import { ConfigProblem, type PerdureConfig } from '../../worker/config/config.ts';
import { loadConfig } from '../../worker/config/load-config.ts';
import { type Check, missing, modelChecks, note, ok } from './model-checks.ts';
import { aroundServers, mcpCheck, networkChecks } from './network-checks.ts';
import { forAnyWorker } from '../../workflows/contract/task-queue.ts';

export type { Check };

const OLDEST_NODE = [20, 19] as const;

/** `config`: the file of `--config`. */
export async function examine(env: Env, config?: string): Promise<readonly Check[]> {
  const folder = folderOf(env);
  return [
    node(process.versions.node),
    'check' in folder ? folder.check : ok('data folder', folder.root),
    ...('check' in folder ? [] : [await storeCheck(folder), ...(await liveChecks(folder))]),
    ...(await serverChecks(env, 'check' in folder ? null : folder)),
    ...(await modelChecks(env, await configOf(env, config))),
    ...networkChecks(env, 'check' in folder ? null : folder, await configOf(env, config)),
    await sandbox(),
    await ripgrep(),
    existsSync(bundlePath())
      ? ok('build', 'the workflow is bundled')
      : missing('build', 'the workflow is not bundled: npm run build'),
    ...(await configChecks(env, 'check' in folder ? undefined : folder.root, config)),
  ];
}

/** The package throws as it is loaded where it has no binary. */
async function ripgrep(): Promise<Check> {
  const path = await import('@vscode/ripgrep').then(
    ({ rgPath }) => rgPath,
    () => null,
  );
  const none = 'the package @vscode/ripgrep has no binary for this system: npm ci';
  return path !== null && existsSync(path) ? ok('ripgrep', path) : missing('ripgrep', none);
}

function node(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldest, oldestMinor] = OLDEST_NODE;
  const fine = major > oldest || (major === oldest && minor >= oldestMinor);
  return fine ? ok('node', version) : missing('node', `${version}: ${OLDEST_NODE.join('.')} or newer is needed`);
}

function folderOf(env: Env): DataFolder | { readonly check: Check } {
  try {
    return openDataFolder(env);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return { check: missing('data folder', error.message) };
  }
}

async function storeCheck(folder: DataFolder): Promise<Check> {
  const { storePlace } = folder;
  try {
    const { id, sealing } = openStore({ ...folder, dataDir: folder.root });
    const found = `${storePlace} (${await id()})`;
    const sealed = await sealing();
    if (sealed) return ok('store', `${found}, records sealed with key ${sealed.keys.active().id}${since(sealed)}`);
    if (isAbsolute(storePlace)) return ok('store', found);
    return note('store', `${found}; its records are not sealed: ${OPEN_RECORDS}`);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return missing('store', error.message);
  }
}

const OPEN_RECORDS =
  'who may write in the bucket is trusted as a worker is, unless PERDURE_CODEC_KEYS names one key file on each machine';

function since({ until }: Sealing): string {
  return until > Date.now() ? `, those without a seal taken until ${new Date(until).toISOString()}` : '';
}

/** In the data folder it is a folder, and there is nothing to say. */
async function liveChecks(folder: DataFolder): Promise<readonly Check[]> {
  const { liveUrl } = folder;
  if (liveUrl === undefined) return [];
  const problem = await openLive(folder).check();
  return [problem === null ? ok('live channel', addressWithoutSecrets(liveUrl)) : missing('live channel', problem)];
}

async function serverChecks(env: Env, folder: DataFolder | null): Promise<readonly Check[]> {
  try {
    const target = resolveConnection(env);
    if (target.kind === 'external') return await externalChecks(target);
    return folder === null ? [] : await embeddedChecks(env, folder);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [missing('server', error.message)];
  }
}

async function sandbox(): Promise<Check> {
  try {
    const { kind, describe } = await probeSandbox();
    return kind === 'bwrap' ? ok('sandbox', describe) : note('sandbox', describe);
  } catch (error) {
    return missing('sandbox', reasonOf(error));
  }
}

/** What is wrong with it is said where it is looked at. */
async function configOf(env: Env, file?: string): Promise<PerdureConfig> {
  try {
    return (await loadConfig(file, env)).config;
  } catch (error) {
    if (!(error instanceof ConfigProblem)) throw error;
    return {};
  }
}

async function configChecks(env: Env, dataDir: string | undefined, file?: string): Promise<readonly Check[]> {
  try {
    const { path, config } = await loadConfig(file, env);
    if (path === null) return [];
    const { mcpServers = {} } = config;
    const around = await aroundServers(env, dataDir);
    const servers = Object.entries(mcpServers).map(([name, server]) => mcpCheck(name, server, around));
    const tried = await Promise.all(servers);
    await around.network.close();
    return [ok('configuration', path), ...tried];
  } catch (error) {
    if (!(error instanceof ConfigProblem || error instanceof SetupProblem)) throw error;
    return [missing('configuration', error.message)];
  }
}

// The embedded server of a data folder: whether it runs, from which binary it would, and who works
// there.

/** Throws SetupProblem for a data folder whose database cannot be used. */
export async function embeddedChecks(env: Env, folder: DataFolder): Promise<readonly Check[]> {
  const running = findRunningServer(folder);
  return [
    running === null ? await binary(env, folder) : ok('server binary', `${running.binary}, server ${running.server}`),
    ...(running === null ? [ok('server', 'not running: any command brings it up')] : await answering(running)),
    workers(folder),
  ];
}

/** Looks on PATH and in the cache. Nothing is downloaded or built here. */
async function binary(env: Env, folder: DataFolder): Promise<Check> {
  try {
    const wanted = versionToMatch(folder);
    const { path, server } = await findBinary({ env, wanted, say: () => undefined, sources: [] });
    return ok('server binary', `${path}, server ${server}`);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return note('server binary', 'none yet: the first command downloads one, or builds it with Go in about 4 minutes');
  }
}

async function answering({ address, pid }: ServerRecord): Promise<readonly Check[]> {
  try {
    const { client, close } = await connectClient({ address, namespace: NAMESPACE });
    const newer = await newerCheck(client);
    await close();
    return [ok('server', `runs at ${address}, pid ${pid}`), ...newer];
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [missing('server', `pid ${pid} runs and does not answer at ${address}: stop it with kill ${pid}`)];
  }
}

async function newerCheck(temporal: Client): Promise<readonly Check[]> {
  const newer = await newerSessions({ temporal });
  return newer.length === 0 ? [] : [note('sessions', `${describeNewer(newer)}: start the newer version`)];
}

function workers(folder: DataFolder): Check {
  const polling = livingMembers(folder).filter(({ worker }) => worker);
  const pids = polling.map(({ pid, role }) => `${role} ${pid}`).join(', ');
  return ok(
    'workers',
    polling.length > 0 ? pids : 'none: perdure run and watch bring their own, perdure dev and worker stay',
  );
}

// A server that is not ours: whether it answers, and whether anyone works there.

/** Throws SetupProblem when it does not answer. */
export async function externalChecks(target: Target): Promise<readonly Check[]> {
  const { client, close } = await connectClient(target);
  try {
    const polls = await workerPolls({ temporal: client });
    return [
      ok('server', `${target.address}, namespace ${target.namespace}`),
      polls ? ok('workers', 'at least one polls') : missing('workers', describeNoWorker(forAnyWorker)),
      ...(await newerCheck(client)),
    ];
  } finally {
    await close();
  }
}
