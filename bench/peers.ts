// A turn beside that of an agent in process: the same calls of the same model by the Claude Agent
// SDK and by a session, in turns in one sitting. What is compared is the time between the end of a
// reply and the next request, which is all that a model sees of the one who runs it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolderOf } from '../connection/data-folder.ts';
import type { BenchServer } from './bench-server.ts';
import { makeWorkspace } from './fill-folder.ts';
import { turnsOf } from './history.ts';
import { spawnCaller } from './processes.ts';
import { opensTurn, type Subject } from './subjects.ts';
import { median } from './table.ts';

export const PEERS = ['read', 'write', 'bash'] as const;

export type PeerRow = {
  readonly subject: (typeof PEERS)[number];
  /** Milliseconds of a turn: medians. */
  readonly floor: number;
  readonly peer: number;
  readonly ours: number;
  /** Ours as a multiple of the peer's: the median of the rounds. */
  readonly ratio: number;
};

const TURNS = 100;
/** The first turns are those of a young process. */
const WARM_UP_TURNS = 10;
const PEER = '@anthropic-ai/claude-agent-sdk@0.3.332';

/** The peer's call in each turn. It has no leave to write over a file that it has not read. */
const PEER_CALLS: Readonly<Record<PeerRow['subject'], readonly [tool: string, input: object]>> = {
  read: ['Read', { file_path: 'small.txt' }],
  write: ['Write', { file_path: 'written-%.txt', content: 'a line\n' }],
  bash: ['Bash', { command: 'echo a line >> notes.txt' }],
};

const OURS: Readonly<Record<PeerRow['subject'], Subject>> = { read: 'safe', write: 'write', bash: 'bash' };

type PeersOptions = {
  readonly subjects: readonly PeerRow['subject'][];
  readonly rounds: number;
  readonly say: (line: string) => void;
};

export async function measurePeers(
  bench: BenchServer,
  { subjects, rounds, say }: PeersOptions,
): Promise<readonly PeerRow[]> {
  const packages = await installPeer(say);
  const rows: PeerRow[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    say(`round ${round} of ${rounds}, load ${loadavg()[0]?.toFixed(1)}`);
    const floor = await floorMs(bench);
    for (const subject of subjects) {
      const peer = await peerMs(packages, subject);
      const { gaps } = await bench.run({ subject: OURS[subject], sessions: 1, turns: TURNS, sealed: true });
      const perdure = median(gaps.slice(WARM_UP_TURNS));
      rows.push({ subject, floor, peer, ours: perdure, ratio: perdure / peer });
    }
  }
  return subjects.map((subject) => {
    const those = rows.filter((row) => row.subject === subject);
    const of = (name: 'floor' | 'peer' | 'ours' | 'ratio'): number => median(those.map((row) => row[name]));
    return { subject, floor: of('floor'), peer: of('peer'), ours: of('ours'), ratio: of('ratio') };
  });
}

/** Returns the folder of the peer's packages, which the bench alone needs. */
async function installPeer(say: (line: string) => void): Promise<string> {
  const folder = join(cacheFolderOf(process.env), 'peers', PEER.replaceAll(/[^\w.]+/g, '-'));
  if (existsSync(join(folder, 'node_modules'))) return folder;
  say(`installing ${PEER}`);
  await mkdir(folder, { recursive: true });
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefix', folder, PEER], process.env);
  return folder;
}

async function floorMs({ client, run: runLoad }: BenchServer): Promise<number> {
  const { workflowIds } = await runLoad({ subject: 'floor', sessions: 1, turns: TURNS });
  const turns = await turnsOf(client, workflowIds[0] ?? '', ...opensTurn('floor'));
  return median(turns.slice(WARM_UP_TURNS).map(({ from, to }) => to - from));
}

async function peerMs(packages: string, subject: PeerRow['subject']): Promise<number> {
  const root = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
  const cwd = join(root, 'workspace');
  await makeWorkspace(cwd);
  const [tool, input] = PEER_CALLS[subject];
  const inside = JSON.stringify(input).replace('"file_path":"', `"file_path":"${cwd}/`);
  const model = await spawnCaller([tool, inside], { turns: TURNS });
  const { PATH } = process.env;
  const quiet = { CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', IS_SANDBOX: '1' };
  const own = { HOME: root, ANTHROPIC_API_KEY: 'bench', ANTHROPIC_BASE_URL: model.url };
  try {
    const file = fileURLToPath(new URL('./peer-process.js', import.meta.url));
    await run(process.execPath, [file, packages, cwd, String(TURNS)], { PATH, ...quiet, ...own });
    const gaps = await model.gaps();
    if (gaps.length < TURNS) throw new Error(`the peer made ${gaps.length} of ${TURNS} turns`);
    return median(gaps.slice(WARM_UP_TURNS));
  } finally {
    await model.stop();
    await rm(root, { recursive: true, force: true });
  }
}

/** Throws when it fails; what it says goes to the standard error. */
async function run(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const [status] = (await once(child, 'exit')) as [number | null];
  if (status !== 0) throw new Error(`${program} ended with ${status}`);
}
