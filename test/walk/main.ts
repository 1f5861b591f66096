// The command `npm run walk`: random walks of sessions through turns, edits, rewinds, undos, forks,
// comparisons and patches, of the whole product, held against a model. A seed repeats a walk.
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { random } from '../support/random.ts';
import { BOUNDS } from './changes.ts';
import { describeOperation, drawWalk } from './operations.ts';
import { openProduct } from './product.ts';
import { makeSmall, runWalk, type WalkMeans } from './run-walk.ts';

const { values } = parseArgs({
  options: {
    walks: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    operations: { type: 'string', default: '10' },
    without: { type: 'string', default: '' },
    'small-seconds': { type: 'string', default: '60' },
    report: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

const [walks, seed, operations] = [values.walks, values.seed, values.operations].map(Number) as [number, number, number];
const without = new Set(values.without.split(',').filter(Boolean));
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
  if (values.report !== undefined) appendFileSync(values.report, `${line}\n`);
};

async function walkOnce(means: WalkMeans, own: number): Promise<boolean> {
  const plan = drawWalk(random(own), own, without, operations);
  const failure = await runWalk(means, plan);
  if (failure === null) return true;
  say(`walk ${own} failed at operation ${failure.at}:`);
  for (const problem of failure.problems.slice(0, 5)) say(`  ${problem}`);
  const until = performance.now() + Number(values['small-seconds']) * 1_000;
  const small = await makeSmall(means, plan, failure, until);
  say(`  the smallest that fails:\n    ${small.plan.beginning.replaceAll('\n', '\n    ')}`);
  for (const operation of small.plan.operations) say(`    ${describeOperation(operation)}`);
  for (const problem of small.failure.problems.slice(0, 5)) say(`  ${problem}`);
  return false;
}

const folder = mkdtempSync(join(tmpdir(), 'perdure-walk-'));
const base = fileURLToPath(new URL('../..', import.meta.url));
const product = await openProduct({ folder, base, snapshots: BOUNDS });
let failed = 0;
try {
  await product.startWorker();
  say(`walks ${seed} to ${seed + walks - 1}${without.size > 0 ? ` without ${[...without].join(', ')}` : ''}`);
  for (let own = seed; own < seed + walks; own += 1)
    if (!(await walkOnce({ product, folder, bounds: BOUNDS, without }, own))) failed += 1;
} finally {
  await product.close();
  if (!values.keep) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
say(`${walks - failed} passed, ${failed} failed`);
process.exit(failed > 0 ? 1 : 0);
