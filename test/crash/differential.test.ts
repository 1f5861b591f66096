// The same random conversations through the loop in memory and through Temporal, with workers
// killed at random and sessions handed over: transcript, transitions and reason must be the same.
// DIFFERENTIAL_COUNT sets how many, DIFFERENTIAL_SEED where they begin.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Entry } from '../../store/log/entries.ts';
import { createDeps } from '../../worker/create-deps.ts';
import { openModelAccess } from '../../worker/model-access.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { defaultHandover, type RunOptions } from '../../workflows/contract/session.ts';
import { anyScript, promptOf } from '../support/any-script.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { fastBackoff } from '../support/harness.ts';
import { memoryLoop } from '../../client/testing/memory-loop.ts';
import { random } from '../support/random.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const HOW_MANY = Number(process.env.DIFFERENTIAL_COUNT ?? 30);
const FIRST_SEED = Number(process.env.DIFFERENTIAL_SEED ?? Date.now() % 1_000_000);
/** At once: what waits for a killed worker waits together. */
const TOGETHER = 30;

test(
  `L54 ${HOW_MANY} random conversations come to the same in memory and through killed workers (L3 L4)`,
  { timeout: 60_000 + HOW_MANY * 20_000 },
  async () => {
    process.stdout.write(`differential: DIFFERENTIAL_SEED=${FIRST_SEED}\n`);
    const h = await crashHarness({ script: anyScript });
    const inMemory = await memoryDeps(h.model.url);
    const seeds = Array.from({ length: HOW_MANY }, (_, n) => FIRST_SEED + n);
    const killer = random(FIRST_SEED);
    const workers = [await h.worker(), await h.worker()];
    let kills = 0;
    for (let at = 0; at < seeds.length; at += TOGETHER) {
      const group = seeds.slice(at, at + TOGETHER);
      const open = await Promise.all(group.map((seed) => opened(h, seed)));
      const watching = open.map(h.follow);
      let ended = 0;
      const ends = Promise.all(open.map(async (session) => (await session.ended(1), (ended += 1))));
      while (ended < group.length) {
        const requests = h.model.requests.length + 4 + killer.nat(24);
        await until(() => ended === group.length || h.model.requests.length >= requests);
        if (ended === group.length) break;
        const victim = killer.nat(1);
        await workers[victim]?.kill();
        workers[victim] = await h.worker();
        kills += 1;
      }
      await ends;
      for (const [n, seed] of group.entries()) {
        const there = open[n]!;
        const here = await memoryLoop(inMemory, {
          session: `s-${seed}` as SessionId,
          text: promptOf(seed),
          options: optionsOf(tempDir(), seed),
        });
        expect(comparable(await there.entries()), `seed ${seed}`).toEqual(comparable(here.entries));
        expect((await there.ended(1)).terminal, `seed ${seed}`).toEqual(here.terminal);
        await watching[n]?.converges();
        await h.follow(there).converges();
      }
    }
    expect(h.model.problems).toEqual([]);
    expect(kills).toBeGreaterThan(HOW_MANY / TOGETHER);
    await Promise.all(workers.map((worker) => worker.kill()));
  },
);

function opened(h: Awaited<ReturnType<typeof crashHarness>>, seed: number) {
  const cwd = join(h.cwd, String(seed));
  mkdirSync(cwd);
  const handover = seed % 2 === 0 ? { ...defaultHandover, iterations: 1 + (seed % 3) } : undefined;
  return h.open(promptOf(seed), optionsOf(cwd, seed), handover);
}

function optionsOf(cwd: string, seed: number): RunOptions {
  writeFileSync(join(cwd, 'a.txt'), 'hello\n');
  const limits = seed % 3 === 0 ? { maxTurns: 1 + (seed % 5), wrapUp: seed % 2 === 0 } : {};
  return { cwd, model: 'claude-a', fallbackModels: ['claude-b'], permissionMode: 'bypass', ...limits };
}

async function memoryDeps(url: string) {
  const root = tempDir();
  const folders = { storePlace: join(root, 'store'), liveDir: join(root, 'live'), dataDir: join(root, 'data') };
  const access = await openModelAccess({ ANTHROPIC_API_KEY: 'test', ANTHROPIC_BASE_URL: url });
  const env = { PATH: process.env.PATH };
  const { random: _, ...deps } = await createDeps({
    env,
    snapshots: false,
    ...folders,
    access,
    log: () => {},
    defaults: { backoff: fastBackoff },
  });
  return { ...deps, random: () => 0 };
}

/**
 * Which calls were over when their reply was stored is a matter of time: the outcomes of one reply
 * are taken together.
 */
function comparable(entries: readonly Entry[]): unknown[] {
  const joined: Entry[] = [];
  for (const entry of entries) {
    const last = joined.at(-1);
    if (entry.kind === 'outcomes' && last?.kind === 'outcomes') {
      joined[joined.length - 1] = { ...last, outcomes: [...last.outcomes, ...entry.outcomes] };
    } else joined.push(entry);
  }
  return joined.map(plain);
}

/** Without what may differ: times, attempts, what died attempts cost, ids and names of places. */
function plain(entry: Entry): unknown {
  return JSON.parse(
    JSON.stringify(entry, (key, value: unknown) => {
      if (
        [
          'at',
          'attempt',
          'spend',
          'duration',
          'key',
          'config',
          'hash',
          'seen',
          'messages',
          'durationMs',
          'usage',
        ].includes(key)
      )
        return undefined;
      if (key === 'id' && entry.kind === 'user') return undefined;
      if (entry.kind === 'reply' && key === 'message') return { ...(value as object), id: null };
      // A write that was killed after its effect runs again, for it may, and finds its file.
      return typeof value === 'string'
        ? value
            .replace(/^(created|updated) made-/, 'wrote made-')
            .replaceAll(/\/\S*\/perdure-test-\w+(?:\/workspace\/-?\d+)?/g, '.')
        : value;
    }),
  ) as unknown;
}
