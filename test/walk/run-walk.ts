// Runs a walk to its end or to the first operation with a problem, and makes one that fails small.
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { goBack, undo, type RunRewind } from './go-back.ts';
import type { Operation, WalkPlan } from './operations.ts';
import type { Bounds } from './expect-files.ts';
import type { Product } from './product.ts';
import { compact, takeTurn } from './take-turn.ts';
import { apply, collectGarbage, diff, fork } from './try-again.ts';
import { change, openWalk, type Walk } from './walk.ts';

export type WalkMeans = {
  readonly product: Product;
  readonly folder: string;
  readonly bounds: Bounds;
  readonly without: ReadonlySet<string>;
};

/** What went wrong, at which of the operations. */
export type Failure = { readonly at: number; readonly problems: readonly string[] };

/** Returns null for a walk without a problem. */
export async function runWalk(
  { product, folder, bounds, without }: WalkMeans,
  plan: WalkPlan,
): Promise<Failure | null> {
  mkdirSync(join(folder, 'walks'), { recursive: true });
  const place = mkdtempSync(join(folder, 'walks', 'w'));
  const name = place.slice(place.lastIndexOf('/') + 1).replaceAll(/\W/g, '');
  const walk = openWalk({ product, name, place, bounds, without, beginning: plan.beginning });
  try {
    for (const [at, operation] of plan.operations.entries()) {
      await carryOut(walk, operation).catch((error: unknown) => {
        walk.problems.push(error instanceof Error ? (error.stack ?? error.message) : String(error));
      });
      walk.problems.push(...product.problems());
      if (walk.problems.length > 0) return { at, problems: walk.problems };
    }
    return null;
  } finally {
    for (const { id } of walk.sessions) await product.run('cancel', id);
    if (walk.problems.length === 0) rmSync(place, { recursive: true, force: true });
    rmSync(`${place}-rules`, { recursive: true, force: true });
    rmSync(join(folder, 'walks', `${name}-rules`), { recursive: true, force: true });
  }
}

async function carryOut(walk: Walk, operation: Operation): Promise<void> {
  const { product, sessions } = walk;
  const run: RunRewind = product.run;
  const session = 'session' in operation ? (sessions[operation.session % Math.max(1, sessions.length)] ?? null) : null;
  // Whoever asked last is answered before the session is at rest.
  if (session) await until(async () => (await product.sessions.describe(session.id)).phase === 'idle');
  switch (operation.kind) {
    case 'turn':
      return await takeTurn(walk, session, operation);
    case 'edit':
      return change(walk, session?.folder ?? walk.folder, operation.script);
    case 'rewind':
      return session ? await goBack(walk, session, operation, run) : undefined;
    case 'undo':
      return session ? await undo(walk, session, operation, run) : undefined;
    case 'fork':
      return session ? await fork(walk, session, operation, run) : undefined;
    case 'diff':
      return session ? await diff(walk, session, operation) : undefined;
    case 'apply':
      return session ? await apply(walk, session, operation, run) : undefined;
    case 'compact':
      return session ? await compact(walk, session) : undefined;
    case 'gc':
      return await collectGarbage(walk, run);
    case 'restart':
      await product.killWorker();
      return await product.startWorker();
  }
}

/**
 * Leaves operations and lines of changes out as long as the walk fails, until `untilMs` as
 * `performance.now` tells it.
 */
export async function makeSmall(
  means: WalkMeans,
  plan: WalkPlan,
  failure: Failure,
  untilMs: number,
): Promise<{ readonly plan: WalkPlan; readonly failure: Failure }> {
  let found = { plan: { ...plan, operations: plan.operations.slice(0, failure.at + 1) }, failure };
  const attempt = async (smaller: WalkPlan): Promise<boolean> => {
    if (performance.now() > untilMs) return false;
    const failed = await runWalk(means, smaller);
    if (!failed) return false;
    found = { plan: { ...smaller, operations: smaller.operations.slice(0, failed.at + 1) }, failure: failed };
    return true;
  };
  for (let at = found.plan.operations.length - 2; at >= 0; at -= 1)
    await attempt({ ...found.plan, operations: found.plan.operations.filter((_, index) => index !== at) });
  for (let at = found.plan.operations.length - 1; at >= 0; at -= 1)
    await shortenScripts(found.plan, at, attempt, () => found.plan);
  await shortenBeginning(() => found.plan, attempt);
  return found;
}

type Attempt = (smaller: WalkPlan) => Promise<boolean>;

async function shortenBeginning(current: () => WalkPlan, attempt: Attempt): Promise<void> {
  for (let line = current().beginning.split('\n').length - 1; line >= 0; line -= 1) {
    const lines = current().beginning.split('\n');
    await attempt({ ...current(), beginning: lines.filter((_, index) => index !== line).join('\n') });
  }
}

async function shortenScripts(plan: WalkPlan, at: number, attempt: Attempt, current: () => WalkPlan): Promise<void> {
  const operation = plan.operations[at];
  if (operation?.kind !== 'turn') return;
  for (let step = operation.steps.length - 1; step >= 0; step -= 1)
    for (let line = (operation.steps[step] ?? '').split('\n').length - 1; line >= 0; line -= 1) {
      const now = current().operations[at];
      if (now?.kind !== 'turn') continue;
      const lines = (now.steps[step] ?? '').split('\n');
      const shorter = lines.length === 1 ? [':'] : lines.filter((_, index) => index !== line);
      if (shorter.join('\n') === now.steps[step]) continue;
      const steps = now.steps.map((script, index) => (index === step ? shorter.join('\n') : script));
      const operations = current().operations.map((one, index) => (index === at ? { ...now, steps } : one));
      await attempt({ ...current(), operations });
    }
}
