// The command `npm run walk`: random walks of sessions through turns, edits, rewinds, undos, forks,
// comparisons and patches, of the whole product, held against a model. A seed repeats a walk.
import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { random } from '../support/random.ts';
import { drawBounds } from './changes.ts';
import { drawWalk, killsWorkers, type WalkPlan } from './operations.ts';
import { copyProduct, type Stepping } from './copy-product.ts';
import { killAtSteps } from './kill-steps.ts';
import { openProduct, type Product } from './product.ts';
import { walkInRepository } from './walk-repository.ts';
import { makeSmall, runWalk, type WalkMeans } from './run-walk.ts';

const { values } = parseArgs({
  options: {
    walks: { type: 'string', default: '20' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    operations: { type: 'string', default: '10' },
    without: { type: 'string', default: '' },
    'small-seconds': { type: 'string', default: '60' },
    together: { type: 'string', default: '4' },
    /** Kills at every step instead; the name of an operation, or a part of one, chooses some. */
    kills: { type: 'boolean', default: false },
    operation: { type: 'string', default: '' },
    stride: { type: 'string', default: '1' },
    first: { type: 'string', default: '1' },
    /** Walks in a copy of this folder instead, with so many turns as there are operations. */
    repository: { type: 'string' },
    report: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});

const MOST_SAID = 5;
const [walks, seed, operations] = [values.walks, values.seed, values.operations].map(Number) as [
  number,
  number,
  number,
];
const without = new Set(values.without.split(',').filter(Boolean));
const bounds = drawBounds(random(seed), without);
const say = (line: string): void => {
  process.stdout.write(`${line}\n`);
  if (values.report !== undefined) appendFileSync(values.report, `${line}\n`);
};

async function walkOnce(means: WalkMeans, plan: WalkPlan): Promise<boolean> {
  const failure = await runWalk(means, plan);
  if (failure === null) return true;
  const until = performance.now() + Number(values['small-seconds']) * 1_000;
  const small = await makeSmall(means, plan, failure, until);
  const lines = [
    `walk ${plan.seed} failed at operation ${failure.at}:`,
    ...failure.problems.slice(0, MOST_SAID).map((problem) => `  ${problem}`),
    '  the smallest that fails:',
    ...small.plan.beginning.split('\n').map((line) => `    ${line}`),
    ...small.plan.operations.map((operation) => `    ${JSON.stringify(operation)}`),
    ...small.failure.problems.slice(0, MOST_SAID).map((problem) => `  ${problem}`),
  ];
  say(lines.join('\n'));
  return false;
}

/** Runs walks, so many at a time, and returns how many have failed. */
async function walkAll(means: WalkMeans, plans: readonly WalkPlan[], together: number): Promise<number> {
  const left = [...plans];
  let failed = 0;
  const walkOn = async (): Promise<void> => {
    for (let plan = left.shift(); plan; plan = left.shift()) if (!(await walkOnce(means, plan))) failed += 1;
  };
  await Promise.all(Array.from({ length: together }, walkOn));
  return failed;
}

const folder = mkdtempSync(join(tmpdir(), 'perdure-walk-'));
const root = fileURLToPath(new URL('../..', import.meta.url));

async function walkAtRandom(product: Product): Promise<Counted> {
  say(`walks ${seed} to ${seed + walks - 1}${without.size > 0 ? ` without ${[...without].join(', ')}` : ''}`);
  const seeds = Array.from({ length: walks }, (_, nth) => seed + nth);
  const plans = seeds.map((own) => drawWalk(random(own), own, without, operations));
  const means = { product, folder, bounds, without };
  const alone = plans.filter(killsWorkers);
  const others = plans.filter((plan) => !alone.includes(plan));
  // What is killed is killed for all that run then.
  const failed = (await walkAll(means, others, Number(values.together))) + (await walkAll(means, alone, 1));
  return { steps: walks, failed };
}

type Counted = { readonly steps: number; readonly failed: number };

async function walkInCopy(product: Product, repository: string): Promise<Counted> {
  say(`a walk in ${repository} with the seed ${seed}`);
  const asked = { product, folder, repository, random: random(seed), turns: operations, without, say };
  const problems = await walkInRepository(asked);
  for (const problem of problems) say(`  ${problem}`);
  return { steps: 1, failed: Math.min(1, problems.length) };
}

async function open(stepping: Stepping | null): Promise<Product> {
  const snapshots = values.repository === undefined ? bounds : true;
  const product = await openProduct({ folder, base: stepping?.base ?? root, snapshots });
  await product.startWorker();
  return product;
}

const stepping = values.kills ? copyProduct(root, join(folder, 'product'), join(folder, 'data')) : null;
const product = await open(stepping);
let counted: Counted;
try {
  const { repository } = values;
  const killing = stepping && {
    product,
    bounds,
    stepping,
    folder,
    stride: Number(values.stride),
    first: Number(values.first),
    say,
  };
  if (repository !== undefined) counted = await walkInCopy(product, repository);
  else counted = killing ? await killAtSteps(killing, values.operation) : await walkAtRandom(product);
} finally {
  await product.close();
  if (!values.keep) rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}
say(`${counted.steps - counted.failed} passed, ${counted.failed} failed`);
process.exit(counted.failed > 0 ? 1 : 0);
