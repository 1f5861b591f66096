// Random walks of the whole product through turns, edits, rewinds, undos, forks, comparisons and
// patches, held against a model. Each run draws others: WALK_SEED, which it prints, repeats one.
// `npm run walk` takes as many as it is told, and makes what fails small.
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { random } from '../support/random.ts';
import { tempDir } from '../support/temp-dir.ts';
import { drawBounds } from '../walk/changes.ts';
import { drawWalk, killsWorkers } from '../walk/operations.ts';
import { openProduct } from '../walk/product.ts';
import { runWalk } from '../walk/run-walk.ts';

const SEED = Number(process.env['WALK_SEED'] ?? Date.now() % 1_000_000);
// Kinds of changes and operations that are left out, with commas between them.
const WITHOUT = new Set((process.env['WALK_WITHOUT'] ?? '').split(',').filter(Boolean));
const WALKS = 6;
const OPERATIONS = 6;

test('files go back, forth and into forks as a model says, whatever was done before (T1 T2 T7 T9 T10 T11)', async () => {
  process.stdout.write(`walks: WALK_SEED=${SEED}\n`);
  const folder = tempDir();
  const base = fileURLToPath(new URL('../..', import.meta.url));
  const bounds = drawBounds(random(SEED), WITHOUT);
  const product = await openProduct({ folder, base, snapshots: bounds });
  onTestFinished(() => product.close());
  await product.startWorker();
  const plans = Array.from({ length: WALKS }, (_, nth) =>
    drawWalk(random(SEED + nth), SEED + nth, WITHOUT, OPERATIONS),
  );
  const walk = async (plan: (typeof plans)[number]) => {
    const failure = await runWalk({ product, folder, bounds, without: WITHOUT }, plan);
    expect(failure?.problems ?? [], `walk ${plan.seed}: ${JSON.stringify(plan)}`).toEqual([]);
  };
  await Promise.all(plans.filter((plan) => !killsWorkers(plan)).map(walk));
  for (const plan of plans.filter(killsWorkers)) await walk(plan);
});
