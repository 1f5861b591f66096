// A store in a bucket that is some way off: its turns beside those of a store in a folder and
// beside the engine's floor, on one server and in turns (W2). The aim is the floor and the time of
// two requests.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStore } from '../store/values/open-store.ts';
import { benchServer, type BenchServer } from './bench-server.ts';
import { turnsOf } from './history.ts';
import { spawnDelay } from './processes.ts';
import { opensTurn, type Subject } from './subjects.ts';
import { median } from './table.ts';

export type BucketRow = { readonly what: string; readonly ms: number };

const TURNS = 40;
/** What a young process takes is not measured. */
const WARM_UP_TURNS = 5;

/** `env`: names the bucket (PERDURE_STORE), where it is (AWS_ENDPOINT_URL_S3) and its keys. */
export async function measureBucket(
  env: NodeJS.ProcessEnv,
  delayMs: number,
  rounds: number,
  say: (line: string) => void,
): Promise<readonly BucketRow[]> {
  const { PERDURE_STORE: storeUrl, AWS_ENDPOINT_URL_S3: endpoint } = env;
  if (!storeUrl?.startsWith('s3://') || !endpoint) {
    throw new Error('the bench of a bucket wants PERDURE_STORE=s3://bucket/prefix and AWS_ENDPOINT_URL_S3');
  }
  const place = `${storeUrl.replace(/\/$/, '')}/${randomUUID()}`;
  const service = await spawnDelay(endpoint, delayMs);
  env['AWS_ENDPOINT_URL_S3'] = service.url;
  const bench = await benchServer(say, place);
  try {
    return await measured(bench, place, rounds, say);
  } finally {
    await bench.close();
    await service.stop();
  }
}

async function measured(
  bench: BenchServer,
  place: string,
  rounds: number,
  say: (line: string) => void,
): Promise<readonly BucketRow[]> {
  const times = { floor: [] as number[], safe: [] as number[], bucket: [] as number[], request: [] as number[] };
  for (let round = 1; round <= rounds; round += 1) {
    for (const subject of ['floor', 'safe', 'bucket'] as const) {
      say(`round ${round} of ${rounds}: ${subject}`);
      times[subject].push(...(await turns(bench, subject)));
    }
    times.request.push(...(await requests(place)));
  }
  return [
    { what: 'the floor: two activities that do nothing', ms: median(times.floor) },
    { what: 'a safe turn with its store in a folder', ms: median(times.safe) },
    { what: 'a request to the bucket', ms: median(times.request) },
    { what: 'a safe turn with its store in the bucket', ms: median(times.bucket) },
  ];
}

async function turns(bench: BenchServer, subject: Subject): Promise<readonly number[]> {
  const { workflowIds } = await bench.run({ subject, sessions: 1, turns: TURNS });
  const all = await turnsOf(bench.client, workflowIds[0] ?? '', ...opensTurn(subject));
  return all.slice(WARM_UP_TURNS).map(({ from, to }) => to - from);
}

async function requests(place: string): Promise<readonly number[]> {
  const cache = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const { store } = openStore({ storePlace: place, dataDir: cache });
  const times: number[] = [];
  for (let n = 0; n < TURNS; n += 1) {
    const began = performance.now();
    await store.put(Buffer.from(`a request: ${randomUUID()}`));
    times.push(performance.now() - began);
  }
  await rm(cache, { recursive: true, force: true });
  return times.slice(WARM_UP_TURNS);
}
