// Hosts as they come and go under sessions: each has a data folder and a workspace of its own, and
// all share a Temporal server and a bucket. On one machine a host restores a folder under the path
// that the other had, so a disk that another host cannot see is one that was moved aside.
import { randomUUID } from 'node:crypto';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client, Connection } from '@temporalio/client';
import { inject, onTestFinished } from 'vitest';
import { reply, toolUse, type ScriptedModel } from '../../scripted-model/index.ts';
import { makeKeyFile } from '../../connection/payloads/key-ring.ts';
import { cliPlace } from './cli.ts';
import { ownNamespace } from './own-namespace.ts';
import { BUCKET, S3_KEYS } from './s3-gateway.ts';
import { tempDir } from './temp-dir.ts';

const GRACE_MS = 1_000;

export type HostPlace = ReturnType<typeof cliPlace>;

/**
 * Hosts with the same keys, which seal what they tell the server. They leave one another's sessions
 * alone for a second. `settings`: of the configuration.
 */
export async function hostCluster(model: ScriptedModel, settings = '') {
  const shared = {
    ...S3_KEYS,
    ...(await ownNamespace(inject('temporalAddress'))),
    AWS_ENDPOINT_URL_S3: inject('s3Endpoint'),
    PERDURE_STORE: `s3://${BUCKET}/${randomUUID()}`,
  };
  const keys = join(tempDir(), 'payload-keys.json');
  makeKeyFile(keys);
  return (name: string): HostPlace => {
    const place = cliPlace(model);
    const own = join(place.data, 'shared-keys.json');
    mkdirSync(place.data, { mode: 0o700 });
    copyFileSync(keys, own);
    Object.assign(place.env, shared, { PERDURE_HOST: name, PERDURE_CODEC_KEYS: own });
    const file = join(place.env['XDG_CONFIG_HOME'] ?? '', 'perdure', 'perdure.config.mjs');
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, `export default { memory: false, hosts: { graceMs: ${GRACE_MS} }, ${settings} };`);
    return place;
  };
}

/** A client of the server that the hosts share; it cannot read what they seal. */
export async function connectTo({ env }: HostPlace): Promise<Client> {
  const connection = await Connection.connect({ address: String(env['TEMPORAL_ADDRESS']) });
  onTestFinished(() => connection.close());
  return new Client({ connection, namespace: String(env['TEMPORAL_NAMESPACE']) });
}

export const wipe = (place: HostPlace): void => {
  for (const folder of [place.data, place.cwd]) rmSync(folder, { recursive: true, force: true });
};

/** Takes a folder away from where other hosts would find it, and returns where it is. */
export function hideFolder(folder: string): string {
  const hidden = `${folder}.of-the-host`;
  renameSync(folder, hidden);
  return hidden;
}

export const hideWorkspace = ({ cwd }: HostPlace): string => hideFolder(cwd);

export const readFile = (place: HostPlace, name: string): string => readFileSync(join(place.cwd, name), 'utf8');

/** A reply whose call adds a line to a file of its name. */
export const writes = (name: string) => reply([toolUse('bash', { command: `echo ${name} >> ${name}` })]);
