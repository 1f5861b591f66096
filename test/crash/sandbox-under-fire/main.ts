// The command `npm run sandbox-under-fire -- --seed 7 --kills 100 --freezes 100`: sandboxes of a
// self-hosted environment, each the SDK's own worker in a network namespace and a folder of its own,
// which are killed and frozen while sessions work in them, and what must hold afterwards. It needs
// Linux, root and `ip`. A seed draws the same faults and the same plans.
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import Anthropic from '@anthropic-ai/sdk';
import { startScriptedModel } from '../../../scripted-model/index.ts';
import { findBinary } from '../../../worker/embedded/find-binary.ts';
import { findFreePort } from '../../../worker/embedded/free-port.ts';
import { makeBridge } from '../hosts-under-fire/host.ts';
import { findMissing, placeInside, runInNamespaces } from '../hosts-under-fire/namespaces.ts';
import { report, type Row, say } from '../hosts-under-fire/report.ts';
import { Driven, untilAnswered } from './drive.ts';
import { haveFaults } from './faults.ts';
import { judge } from './judge.ts';
import { sandboxScript } from './plans.ts';
import { type Proxy, startProxy } from './proxy.ts';
import { Sandbox } from './sandbox.ts';
import { openPlace, perdure, Supervised } from './services.ts';

/** The shortest there is; after half of it again, calls of a lost lease are concluded. */
const LEASE = '10s';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '51' },
    kills: { type: 'string', default: '100' },
    freezes: { type: 'string', default: '100' },
    sandboxes: { type: 'string', default: '6' },
    sessions: { type: 'string', default: '6' },
    /** Without the fence that asks before each effect. */
    plain: { type: 'boolean', default: false },
    /** Keeps the logs, and says where they are. */
    keep: { type: 'boolean', default: false },
  },
});
const { seed, kills, freezes, sandboxes, sessions } = {
  seed: Number(values.seed),
  kills: Number(values.kills),
  freezes: Number(values.freezes),
  sandboxes: Number(values.sandboxes),
  sessions: Number(values.sessions),
};

/** `folder`: of logs and data. */
type Place = { readonly folder: string };

const inside = placeInside() as Place | null;
process.exitCode = inside === null ? await enter() : await burn(inside);
// Servers and sandboxes end with the namespaces of this process.
process.exit();

async function enter(): Promise<number> {
  const missing = findMissing(['ip', 'unshare']);
  if (missing !== null) {
    process.stderr.write(`sandbox-under-fire: ${missing}\n`);
    return 2;
  }
  const folder = mkdtempSync(join(tmpdir(), 'perdure-fire-'));
  const note = (line: string): void => void process.stderr.write(`${line}\n`);
  // Inside there is no network to have it from.
  await findBinary({ env: process.env, wanted: null, say: note });
  const status = await runInNamespaces(fileURLToPath(import.meta.url), { folder } satisfies Place);
  if (values.keep) process.stdout.write(`logs and data: ${folder}\n`);
  else rmSync(folder, { recursive: true, force: true });
  return status;
}

async function burn({ folder }: Place): Promise<number> {
  say(`seed ${seed}: ${sessions} sessions, ${sandboxes} sandboxes, ${kills} kills and ${freezes} freezes`);
  makeBridge();
  const effects = join(folder, 'effects.log');
  const model = await startScriptedModel({ script: sandboxScript(effects), keep: 'none' });
  const env = await openPlace(folder, model.url);
  const port = await findFreePort();
  const managed = ['--managed', join(folder, 'agents'), '--managed-lease', LEASE];
  const face = ['serve', '--port', `${port}`, ...managed];
  const server = new Supervised({ name: 'server', argv: face, ready: 'managed agents ', folder, env });
  const worker = new Supervised({ name: 'worker', argv: ['worker'], ready: 'worker ready', folder, env });
  await Promise.all([server.start(), worker.start()]);
  const apiKey = await perdure(['serve', '--token'], env);
  const client = new Anthropic({ apiKey, authToken: null, baseURL: `http://127.0.0.1:${port}`, logLevel: 'off' });
  const environment = (await client.beta.environments.create({ name: 'own', config: { type: 'self_hosted' } })).id;
  const proxy = await startProxy(port, seed, !values.plain);
  const key = await perdure(['environments', 'key', environment], env);
  const own = { folder: mkdtempSync(join(folder, 'sandboxes-')), baseURL: proxy.url, environment, key };
  const mode = values.plain ? 'plain' : 'fenced';
  const boxes = Array.from({ length: sandboxes }, (_, at) => new Sandbox({ ...own, place: at + 1, mode }));
  for (const box of boxes) box.start();
  const all = await beginSessions(client, environment);
  say('all sessions have begun: the faults begin');
  const faults = new AbortController();
  const busy = all.map((one) => one.keepBusy(faults.signal));
  const counts = await haveFaults({ kills, freezes }, { sandboxes: boxes, own: [server, worker], seed, say });
  faults.abort();
  proxy.calm();
  await Promise.all(busy);
  const list = Object.entries(counts).map(([kind, count]) => `${count} ${kind}`);
  say(`all sandboxes are back after ${list.join(', ')}`);
  await Promise.race([Promise.all(all.map((one) => one.close())), sayWaiting(all)]);
  const before = await Promise.all(all.map((one) => one.events()));
  await server.killAndStart();
  const after = await Promise.all(all.map((one) => one.events()));
  const told = all.map((driven, at) => ({ driven, before: before[at] ?? [], after: after[at] ?? [] }));
  const rows = judge({ sessions: told, lines: linesOf(effects), passed: proxy.passed });
  return report([...rows, judgeRest(boxes, model.problems, proxy)], seed);
}

async function beginSessions(client: Anthropic, environment: string): Promise<readonly Driven[]> {
  const { id: agent } = await client.beta.agents.create({
    name: 'Coder',
    model: 'claude-sonnet-5-5',
    tools: [{ type: 'agent_toolset_20260401' }],
  });
  const all: Driven[] = [];
  for (let number = 1; number <= sessions; number += 1) {
    const { id } = await untilAnswered(() =>
      client.beta.sessions.create({ agent, environment_id: environment, title: `s${number}` }),
    );
    all.push(new Driven(number, id, { client, seed }));
  }
  return all;
}

/** Says each half minute which sessions are not at rest yet. */
async function sayWaiting(all: readonly Driven[]): Promise<never> {
  for (;;) {
    await sleep(30_000);
    const resting = await Promise.all(all.map((one) => one.isAtRest()));
    const open = all.filter((_, at) => resting[at] === false);
    say(`not at rest: ${open.map(({ name, id }) => `${name} ${id}`).join(', ')}`);
  }
}

function linesOf(path: string): readonly string[] {
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean) : [];
}

function judgeRest(boxes: readonly Sandbox[], modelProblems: readonly string[], { cuts, refused }: Proxy): Row {
  const ended = boxes.reduce((sum, { endedByThemselves }) => sum + endedByThemselves, 0);
  const show = (all: Readonly<Record<string, number>>): string =>
    Object.entries(all)
      .map(([kind, count]) => `${count} ${kind}`)
      .join(', ');
  return {
    claim: 'no request that the model refuses',
    counts: `cut: ${show(cuts)}; refused for good: ${show(refused)}; ${ended} sandboxes ended by themselves`,
    faults: modelProblems,
  };
}
