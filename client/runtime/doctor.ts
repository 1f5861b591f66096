// Checks everything a session needs on this machine.
import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { commandPolicy, probeSandbox } from '../../tools/sandbox.ts';
import { openLive } from '../../store/live/open-live.ts';
import { addressWithoutSecrets } from '../../store/live/redis-link.ts';
import { openStore } from '../../store/values/open-store.ts';
import type { Sealing } from '../../store/values/s3/record-seal.ts';
import { snapshotsFolderOf } from '../../store/snapshots/shadow.ts';
import { DEFAULT_DISK_BYTES, measureShadow } from '../../store/snapshots/pack-shadow.ts';
import { StoreError } from '../../store/values/store.ts';
import { bundlePath } from '../../worker/bundle.ts';
import { type DataFolder, type Env, openDataFolder } from '../../connection/data-folder.ts';
import { resolveConnection } from '../../connection/resolve-connection.ts';
import { SetupProblem } from '../../system/setup-problem.ts';
import { reasonOf } from '../../system/text.ts';
import { mayRunUnconfined } from '../../worker/config/unconfined.ts';
import { ConfigProblem, type PerdureConfig } from '../../worker/config/config.ts';
import {
  formatDeployment,
  notCurrentNotice,
  readDeployment,
  requireOwnServer,
  type WorkerDeployment,
} from '../../worker/config/deployment.ts';
import { loadConfig } from '../../worker/config/load-config.ts';
import { describeFreeRoom, measureDatabase } from '../store-care/database-size.ts';
import { formatCount, formatSize } from '../units.ts';
import {
  type Check,
  deferralOf,
  mcpCheck,
  missingCheck,
  modelChecks,
  networkChecks,
  noteCheck,
  okCheck,
  prepareServers,
} from './network-checks.ts';
import type { Client } from '@temporalio/client';
import { connectClient, type Target } from '../../connection/connect-client.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { livingMembers } from '../../worker/embedded/members.ts';
import { NAMESPACE } from '../../worker/embedded/server-args.ts';
import { findRunningServer, type ServerRecord, versionToMatch } from '../../worker/embedded/server-record.ts';
import { describeNewer, newerSessions } from './newer.ts';
import { isQueuePolled } from '../../connection/worker-polls.ts';
import { describeNoWorker } from '../sessions/watch-pollers.ts';
import { forAnyWorker } from '../../workflows/contract/task-queue.ts';

export type { Check };

const OLDEST_NODE = [20, 19] as const;

/** Runs all checks. `config` is the file of `--config`. */
export async function runChecks(env: Env, config?: string): Promise<readonly Check[]> {
  const folder = folderOf(env);
  return [
    nodeCheck(process.versions.node),
    'check' in folder ? folder.check : okCheck('data folder', folder.root),
    ...('check' in folder
      ? []
      : [
          await storeCheck(folder),
          ...databaseChecks(folder),
          await snapshotsCheck(folder, await configOf(env, config)),
          ...(await liveChecks(folder)),
        ]),
    ...(await serverChecks(env, 'check' in folder ? null : folder)),
    ...(await modelChecks(env, await configOf(env, config))),
    ...networkChecks(env, 'check' in folder ? null : folder, await configOf(env, config)),
    await sandboxCheck(env, await configOf(env, config)),
    await ripgrepCheck(),
    existsSync(bundlePath())
      ? okCheck('build', 'the workflow is bundled')
      : missingCheck('build', 'the workflow is not bundled: npm run build'),
    ...(await configChecks(env, 'check' in folder ? undefined : folder.root, config)),
  ];
}

/** The package throws while it loads if it has no binary. */
async function ripgrepCheck(): Promise<Check> {
  const path = await import('@vscode/ripgrep').then(
    ({ rgPath }) => rgPath,
    () => null,
  );
  const none = 'the package @vscode/ripgrep has no binary for this system: npm ci';
  return path !== null && existsSync(path) ? okCheck('ripgrep', path) : missingCheck('ripgrep', none);
}

function nodeCheck(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldest, oldestMinor] = OLDEST_NODE;
  const fine = major > oldest || (major === oldest && minor >= oldestMinor);
  return fine
    ? okCheck('node', version)
    : missingCheck('node', `${version}: ${OLDEST_NODE.join('.')} or newer is needed`);
}

function folderOf(env: Env): DataFolder | { readonly check: Check } {
  try {
    return openDataFolder(env);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return { check: missingCheck('data folder', error.message) };
  }
}

async function storeCheck(folder: DataFolder): Promise<Check> {
  const { storePlace } = folder;
  try {
    const { id, sealing } = openStore({ ...folder, dataDir: folder.root });
    const found = `${storePlace} (${await id()})`;
    const sealed = await sealing();
    if (sealed)
      return okCheck('store', `${found}, records sealed with key ${sealed.keys.active().id}${sealingText(sealed)}`);
    if (isAbsolute(storePlace)) return okCheck('store', found);
    return noteCheck('store', `${found}; its records are not sealed: ${OPEN_RECORDS}`);
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return missingCheck('store', error.message);
  }
}

/** The bound is that of the configuration, whatever a worker has that began before it. */
async function snapshotsCheck({ root }: DataFolder, { snapshots }: PerdureConfig): Promise<Check> {
  const { bytes, loose, packs } = await measureShadow(snapshotsFolderOf(root), 'exact');
  const { diskBytes = DEFAULT_DISK_BYTES } = typeof snapshots === 'object' ? snapshots : {};
  const parts = `${formatCount(loose, 'loose object')}, ${formatCount(packs, 'pack')}`;
  const found = `${formatSize(bytes)} of at most ${formatSize(diskBytes)}: ${parts}`;
  if (bytes <= diskBytes) return okCheck('snapshots', found);
  return noteCheck('snapshots', `${found}; no more are taken: perdure gc, or a higher snapshots.diskBytes, makes room`);
}

/** Nothing is said of a database that has little room to give back. */
function databaseChecks({ temporalDb }: DataFolder): readonly Check[] {
  const size = measureDatabase(temporalDb);
  const room = size && describeFreeRoom(temporalDb, size);
  return room ? [noteCheck('database', room)] : [];
}

const OPEN_RECORDS =
  'who may write in the bucket is trusted as a worker is, unless PERDURE_CODEC_KEYS names one key file on each machine';

function sealingText({ until }: Sealing): string {
  return until > Date.now() ? `, those without a seal taken until ${new Date(until).toISOString()}` : '';
}

/** Checks a live channel on Redis. A live channel in the data folder needs no check. */
async function liveChecks(folder: DataFolder): Promise<readonly Check[]> {
  const { liveUrl } = folder;
  if (liveUrl === undefined) return [];
  const problem = await openLive(folder).check();
  return [
    problem === null ? okCheck('live channel', addressWithoutSecrets(liveUrl)) : missingCheck('live channel', problem),
  ];
}

async function serverChecks(env: Env, folder: DataFolder | null): Promise<readonly Check[]> {
  try {
    const target = resolveConnection(env);
    const deployment = requireOwnServer(readDeployment(env), target.kind === 'embedded');
    if (target.kind === 'external') return await checkExternal(target, deployment);
    return folder === null ? [] : await checkEmbedded(env, folder);
  } catch (error) {
    if (!(error instanceof SetupProblem)) throw error;
    return [missingCheck('server', error.message)];
  }
}

async function sandboxCheck(env: Env, { sandbox: settings }: PerdureConfig): Promise<Check> {
  try {
    const sandbox = await probeSandbox({ unconfined: mayRunUnconfined(settings, env) });
    const check = { confined: okCheck, refused: missingCheck, unconfined: noteCheck }[commandPolicy(sandbox)];
    return check('sandbox', `${commandPolicy(sandbox)}: ${sandbox.describe}`);
  } catch (error) {
    return missingCheck('sandbox', reasonOf(error));
  }
}

/** Ignores mistakes in the configuration, which its own check reports. */
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
    const around = await prepareServers(env, dataDir, config);
    const servers = Object.entries(mcpServers).map(([name, server]) => mcpCheck(name, server, around));
    const tried = await Promise.all(servers);
    await around.network.close();
    const deferral = deferralOf(
      config,
      tried.flatMap(({ list }) => list ?? []),
    );
    const deferred = deferral === undefined ? [] : [okCheck('MCP tools', deferral)];
    return [okCheck('configuration', path), ...tried.map(({ check }) => check), ...deferred];
  } catch (error) {
    if (!(error instanceof ConfigProblem || error instanceof SetupProblem)) throw error;
    return [missingCheck('configuration', error.message)];
  }
}

/**
 * Checks the embedded server of a data folder: whether it runs, from which binary, and which
 * workers it has. Throws SetupProblem for a data folder whose database cannot be used.
 */
async function checkEmbedded(env: Env, folder: DataFolder): Promise<readonly Check[]> {
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
async function checkExternal(target: Target, deployment?: WorkerDeployment): Promise<readonly Check[]> {
  const { client, close } = await connectClient(target);
  try {
    const polls = await isQueuePolled({ temporal: client });
    return [
      okCheck('server', `${target.address}, namespace ${target.namespace}`),
      polls ? okCheck('workers', 'at least one polls') : missingCheck('workers', describeNoWorker(forAnyWorker)),
      ...(deployment ? [await deploymentCheck(client, deployment)] : []),
      ...(await newerCheck(client)),
    ];
  } finally {
    await close();
  }
}

/** A build that isn't current gets no new sessions, which looks like a fault. */
async function deploymentCheck(client: Client, deployment: WorkerDeployment): Promise<Check> {
  const found = formatDeployment(deployment);
  try {
    const notice = await notCurrentNotice(client, deployment);
    return notice === undefined ? okCheck('deployment', found) : noteCheck('deployment', `${found}; ${notice}`);
  } catch (error) {
    return missingCheck('deployment', `${found}; the server doesn't say which build is current: ${reasonOf(error)}`);
  }
}
