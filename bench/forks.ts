// Rewinds and forks of a session in a folder of 5,000 files of which its last run has changed 50.
import { appendFile } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../client/client.ts';
import type { PerdureClient } from '../client/perdure-client.ts';
import type { SessionDescription } from '../client/sessions/info.ts';
import { fileStore } from '../store/values/file-store.ts';
import type { BenchServer } from './bench-server.ts';
import { median } from './table.ts';

export type ForkRow = { readonly what: string; readonly ms: number; readonly worst: number };

const FILES = 5_000;
const CHANGED = 50;
const ROUNDS = 9;
/** Rounds at the beginning that are not counted. */
const WARM_UP_ROUNDS = 2;

export async function measureForks(bench: BenchServer, say: (line: string) => void): Promise<ForkRow[]> {
  const sessions = createClient({
    temporal: bench.client,
    store: fileStore({ dir: bench.folder.storePlace }),
    live: async function* () {},
    visibility: () => Promise.resolve(true),
  });
  const rounds: Readonly<Record<string, number>>[] = [];
  await bench.run({
    subject: 'write',
    sessions: 1,
    turns: 3,
    files: FILES,
    snapshots: true,
    afterwards: async (session) => {
      for (let round = 1; round <= WARM_UP_ROUNDS + ROUNDS; round += 1) {
        say(`rewinds and forks, round ${round} of ${WARM_UP_ROUNDS + ROUNDS}, load ${loadavg()[0]?.toFixed(1)}`);
        await changeFiles(sessions, session);
        rounds.push(await measureRound(bench, sessions, session));
      }
    },
  });
  const counted = rounds.slice(WARM_UP_ROUNDS);
  return Object.keys(counted[0] ?? {}).map((what) => {
    const times = counted.map((round) => round[what] ?? Number.NaN);
    return { what, ms: median(times), worst: Math.max(...times) };
  });
}

/** Changes files as a person does, and has them captured by a run. */
async function changeFiles(sessions: PerdureClient, session: string): Promise<void> {
  const { cwd, runs } = await waitForRest(sessions, session);
  for (let file = 0; file < CHANGED; file += 1)
    await appendFile(join(cwd, 'src', `part-${file}`, `file-${file * 100}.ts`), '// changed\n');
  await sessions.send(session, 'Again.');
  await waitForRest(sessions, session, runs + 1);
}

/** Describes a session that has ended so many runs. After a handover its memo comes a little late. */
async function waitForRest(sessions: PerdureClient, session: string, runs = 1): Promise<SessionDescription> {
  for (;;) {
    const description = await sessions.describe(session);
    if (description.phase === 'idle' && (description.last?.run ?? 0) >= runs) return description;
    await sleep(10);
  }
}

async function measureRound({ client }: BenchServer, sessions: PerdureClient, session: string) {
  const forks: string[] = [];
  const fork = async (files: boolean): Promise<void> => {
    const forked = await sessions.fork(session, files ? {} : { files: false });
    forks.push(forked.session);
    const isReady = async () => (await sessions.describe(forked.session)).forkFiles?.state === 'done';
    if (files) while (!(await isReady())) await sleep(10);
  };
  const bare = await timeWork(() => fork(false));
  const withFiles = await timeWork(() => fork(true));
  await waitForRest(sessions, session);
  const back = await timeWork(async () => {
    const { rewound } = await sessions.rewind(session, { to: '1.3', conversation: false });
    const files = rewound?.files?.[0]?.files;
    if (files !== CHANGED) throw new Error(`a rewind wrote ${files} files, and not ${CHANGED}`);
  });
  for (const each of forks) await client.workflow.getHandle(each).terminate();
  return {
    'a fork without files': bare,
    [`a fork with its ${FILES} files`]: withFiles,
    [`a rewind of ${CHANGED} files of ${FILES}`]: back,
  };
}

async function timeWork(work: () => Promise<void>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
