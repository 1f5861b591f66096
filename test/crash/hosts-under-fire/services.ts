// What the hosts have in common, on a machine of its own that stays: the Temporal server, a store in
// a bucket, a Redis for the live channel, the model, and a ledger that counts effects by their ids.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { Connection } from '@temporalio/client';
import { startScriptedModel, type Script } from '../../../scripted-model/index.ts';
import { serverArgs } from '../../../worker/embedded/server-args.ts';
import { BUCKET, S3_KEYS } from '../../support/s3-gateway.ts';
import { until } from '../../support/until.ts';
import { SERVERS } from './host.ts';

const PORTS = { temporal: 7233, s3: 7070, redis: 6379, ledger: 9000, model: 4099 } as const;
export const LEDGER = `http://${SERVERS}:${PORTS.ledger}`;

/** One effect: which host has made it, and when, in milliseconds since the epoch. */
export type Effect = { readonly id: string; readonly from: string; readonly at: number };

export type Services = {
  /** For workers and commands. */
  readonly env: Readonly<Record<string, string>>;
  readonly temporal: string;
  readonly s3: string;
  readonly effects: readonly Effect[];
  /** What the model would have refused, or could not answer. */
  readonly modelProblems: readonly string[];
};

/** `programs`: paths. They end with the namespaces of this process. */
export async function startServices(
  folder: string,
  programs: { readonly temporal: string; readonly s3: string },
  script: Script,
): Promise<Services> {
  const temporal = await startTemporal(folder, programs.temporal);
  const s3 = await startS3(folder, programs.s3);
  const redis = ['--port', String(PORTS.redis), '--bind', SERVERS, '--protected-mode', 'no', '--save', ''];
  start('redis-server', redis);
  const effects = await startLedger();
  const model = await startScriptedModel({ script, host: SERVERS, port: PORTS.model, keep: 'none' });
  const env = {
    ...S3_KEYS,
    AWS_ENDPOINT_URL_S3: s3,
    PERDURE_STORE: `s3://${BUCKET}/fire`,
    PERDURE_LIVE: `redis://${SERVERS}:${PORTS.redis}/0`,
    TEMPORAL_ADDRESS: temporal,
    ANTHROPIC_API_KEY: 'test',
    ANTHROPIC_BASE_URL: model.url,
  };
  return { env, temporal, s3, effects, modelProblems: model.problems };
}

function start(program: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): ChildProcess {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] });
  child.once('exit', (code, signal) => {
    throw new Error(`${program} has ended: ${signal ?? code}`);
  });
  return child;
}

async function startTemporal(folder: string, program: string): Promise<string> {
  const args = serverArgs({ port: PORTS.temporal, database: join(folder, 'temporal.db'), uiPort: null });
  // One address alone would be dialled by the server's own parts as well, which listen on loopback.
  start(program, [...args, '--ip', '0.0.0.0', '--log-level', 'never']);
  const address = `${SERVERS}:${PORTS.temporal}`;
  await until(() => isServed(address).catch(() => false));
  return address;
}

/** The server answers some time before it has its namespace. */
async function isServed(address: string): Promise<boolean> {
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.describeNamespace({ namespace: 'default' });
    return true;
  } finally {
    await connection.close();
  }
}

async function startS3(folder: string, program: string): Promise<string> {
  mkdirSync(join(folder, 'buckets', BUCKET), { recursive: true });
  const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY } = S3_KEYS;
  const args = ['--port', `${SERVERS}:${PORTS.s3}`, '--keep-alive', '--quiet', 'posix', join(folder, 'buckets')];
  start(program, args, { ROOT_ACCESS_KEY: AWS_ACCESS_KEY_ID, ROOT_SECRET_KEY: AWS_SECRET_ACCESS_KEY });
  const endpoint = `http://${SERVERS}:${PORTS.s3}`;
  await until(() => fetch(endpoint).catch(() => null));
  return endpoint;
}

async function startLedger(): Promise<readonly Effect[]> {
  const effects: Effect[] = [];
  const server = createServer((request, response) => {
    const id = decodeURIComponent(request.url?.slice(1) ?? '');
    effects.push({ id, from: request.socket.remoteAddress ?? '', at: Date.now() });
    response.end('noted\n');
  });
  await new Promise<void>((resolve) => server.listen(PORTS.ledger, SERVERS, resolve));
  return effects;
}
