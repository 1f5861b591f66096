// Names the Worker Deployment that a worker belongs to, and reads which of its builds is current
// (D5). Queues on which workflows run are versioned, with those of their records: a session's
// decisions and its transcript come from one build. The queue of a host is not: whichever build
// works there has the session's folder, and a build that left the host would be waited for.
import type { Client } from '@temporalio/client';
import type { WorkerOptions } from '@temporalio/worker';
import type { Env } from '../../connection/data-folder.ts';
import { GRPC, readGrpcFailure } from '../../connection/grpc-failure.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

/** A session's move when another build becomes current. */
export type Versioning = 'auto-upgrade' | 'pinned';

export type WorkerDeployment = {
  /** The name that all builds share: letters, digits, "_" and "-". */
  readonly name: string;
  /** This build, such as a release or a commit: letters, digits, ".", "_", "+" and "-". */
  readonly build: string;
  /**
   * `auto-upgrade`: sessions move to the current build with their next workflow task. `pinned`:
   * they stay on the build that began them, until a handover. Absent: `auto-upgrade`.
   */
  readonly versioning?: Versioning;
};

const VARIABLE = 'PERDURE_DEPLOYMENT';
const VERSIONING_VARIABLE = 'PERDURE_VERSIONING';
const BEHAVIORS = { 'auto-upgrade': 'AUTO_UPGRADE', pinned: 'PINNED' } as const satisfies Record<Versioning, string>;

/** Milliseconds before a call to the server is given up. */
const CALL_MS = 5_000;

/** Temporal joins name and build by "." and ":", so a name has neither. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/;
const BUILD = /^[A-Za-z0-9][A-Za-z0-9._+-]{0,99}$/;

/** Returns undefined where no deployment is set. Throws SetupProblem. */
export function readDeployment(env: Env): WorkerDeployment | undefined {
  const set = env[VARIABLE]?.trim();
  const versioning = env[VERSIONING_VARIABLE]?.trim();
  if (!set) {
    if (versioning)
      throw new SetupProblem(`${VERSIONING_VARIABLE} means nothing without ${VARIABLE}: set both or none`);
    return undefined;
  }
  const [name = '', ...build] = set.split(':');
  const deployment = { name, build: build.join(':'), ...(versioning && { versioning: versioning as Versioning }) };
  const problem = deploymentProblem(deployment);
  if (problem === undefined) return deployment;
  throw new SetupProblem(`${VARIABLE} or ${VERSIONING_VARIABLE} is wrong: ${problem}, as in ${VARIABLE}=agents:1.4.0`);
}

/** Says in one line what is wrong with a deployment. */
export function deploymentProblem({ name, build, versioning }: WorkerDeployment): string | undefined {
  if (!isTextOf(NAME, name)) return 'the name of the deployment has letters, digits, "_" and "-", at most 60';
  if (!isTextOf(BUILD, build)) return 'the build has letters, digits, ".", "_", "+" and "-", at most 100';
  if (versioning === undefined || Object.hasOwn(BEHAVIORS, versioning)) return undefined;
  return `sessions are "pinned" or "auto-upgrade", not ${JSON.stringify(versioning).slice(0, 80)}`;
}

/** A program in JavaScript may leave a part out. */
const isTextOf = (pattern: RegExp, value: unknown): boolean => typeof value === 'string' && pattern.test(value);

/**
 * Returns the deployment of a staying worker. Throws SetupProblem on the embedded server, where
 * commands start workers of their own, which belong to no build.
 */
export function requireOwnServer<T extends WorkerDeployment | undefined>(deployment: T, isEmbedded: boolean): T {
  if (deployment === undefined || !isEmbedded) return deployment;
  throw new SetupProblem(
    `deployment ${formatDeployment(deployment)} needs a Temporal server of your own: set TEMPORAL_ADDRESS, or unset ${VARIABLE}`,
  );
}

/** Returns the options of a worker of a build; without a deployment, `id` names its code. */
export function versionOptions(deployment: WorkerDeployment | undefined, id: string): Partial<WorkerOptions> {
  if (deployment === undefined)
    return { workerDeploymentOptions: { version: { deploymentName: '', buildId: id }, useWorkerVersioning: false } };
  const { name, build, versioning = 'auto-upgrade' } = deployment;
  const version = { deploymentName: name, buildId: build };
  const defaultVersioningBehavior = BEHAVIORS[versioning];
  return { workerDeploymentOptions: { version, useWorkerVersioning: true, defaultVersioningBehavior } };
}

/** Formats `agents:1.4.0, auto-upgrade`. */
export function formatDeployment({ name, build, versioning = 'auto-upgrade' }: WorkerDeployment): string {
  return `${name}:${build}, ${versioning}`;
}

/** Says in one line what a build waits for that isn't current; undefined for the current one. */
export async function notCurrentNotice(client: Client, deployment: WorkerDeployment): Promise<string | undefined> {
  const { name, build } = deployment;
  const current = await readCurrentBuild(client, name);
  if (current === build) return undefined;
  const which = current === null ? 'no build is current' : `build ${current} is current`;
  const command = `temporal worker deployment set-current-version --deployment-name ${name} --build-id ${build}`;
  return `${which}, so build ${build} gets no new sessions until you run \`${command}\``;
}

/** Returns null where the deployment is unknown yet, or none of its builds is current. */
async function readCurrentBuild(client: Client, deploymentName: string): Promise<string | null> {
  const request = { namespace: client.options.namespace, deploymentName };
  try {
    const { workerDeploymentInfo } = await client.withDeadline(Date.now() + CALL_MS, () =>
      client.workflowService.describeWorkerDeployment(request),
    );
    return workerDeploymentInfo?.routingConfig?.currentDeploymentVersion?.buildId || null;
  } catch (error) {
    if (readGrpcFailure(error).code === GRPC.notFound) return null;
    throw error;
  }
}
