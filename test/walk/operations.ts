// The operations of a walk, as data: drawn from a seed, replayed, and left out one after the other
// while a failure is made small. None depends on another: numbers choose among what is there then.
import type { Random } from '../support/random.ts';
import { drawBeginning, drawChange, drawMeanwhile } from './changes.ts';

/** A model call that fails before the reply of a step. */
export type Failing = { readonly step: number; readonly how: 'overloaded' | 'broken' | 'dropped' | 'cut' };

export type Operation =
  | {
      readonly kind: 'turn';
      readonly session: number;
      /** It opens another session in the folder of that one. */
      readonly anew?: boolean;
      /** What the call of each step does, as bash. */
      readonly steps: readonly string[];
      readonly failing?: Failing;
      /** The worker is killed while this step is asked for. */
      readonly killedAt?: number;
      /** A person changes files while this step is asked for, and its folder captured. */
      readonly meanwhile?: { readonly step: number; readonly script: string };
    }
  | { readonly kind: 'edit'; readonly session: number; readonly script: string }
  | {
      readonly kind: 'rewind';
      readonly session: number;
      /** Chooses a prompt or a reply; the last prompt when null. */
      readonly to: number | null;
      readonly part: 'both' | 'files' | 'conversation';
      readonly force: boolean;
    }
  | { readonly kind: 'undo'; readonly session: number; readonly force: boolean }
  | { readonly kind: 'fork'; readonly session: number; readonly at: number | null; readonly how: 'files' | 'worktree' }
  | { readonly kind: 'diff'; readonly session: number; readonly from: number | null; readonly to: number | null }
  | { readonly kind: 'apply'; readonly session: number; readonly edit: string | null }
  | { readonly kind: 'compact'; readonly session: number }
  | { readonly kind: 'gc' }
  | { readonly kind: 'restart' };

export type WalkPlan = {
  readonly seed: number;
  readonly beginning: string;
  readonly operations: readonly Operation[];
};

/** One walk in three kills workers: it has the worker for itself. */
export function drawWalk(random: Random, seed: number, given: ReadonlySet<string>, steps: number): WalkPlan {
  const without = random.nat(2) === 0 ? given : new Set([...given, 'kills']);
  const beginning = drawBeginning(random, without);
  const operations = Array.from({ length: steps }, () => drawOperation(random, without));
  return { seed, beginning, operations: [drawTurn(random, without), ...operations] };
}

function drawTurn(random: Random, without: ReadonlySet<string>): Operation {
  const count = random.nat(2) + (random.nat(5) === 0 ? 0 : 1);
  const steps = Array.from({ length: count }, () => drawScript(random, without));
  const step = random.nat(steps.length);
  const fails = !without.has('failing') && random.nat(5) === 0;
  const isKilled = !without.has('kills') && random.nat(9) === 0;
  const isMeanwhile = !fails && !isKilled && !without.has('meanwhile') && random.nat(4) === 0;
  return {
    kind: 'turn',
    session: random.nat(5),
    ...(!without.has('together') && random.nat(7) === 0 && { anew: true }),
    steps,
    ...(fails && { failing: { step, how: random.pick(['overloaded', 'broken', 'dropped', 'cut']) } }),
    ...(isKilled && { killedAt: step }),
    ...(isMeanwhile && { meanwhile: { step, script: drawMeanwhile(random) } }),
  };
}

function drawScript(random: Random, without: ReadonlySet<string>): string {
  return Array.from({ length: 1 + random.nat(2) }, () => drawChange(random, without)).join('\n');
}

const among = (random: Random): number => random.nat(1_000);

function drawOperation(random: Random, without: ReadonlySet<string>): Operation {
  const session = random.nat(5);
  const choices: readonly (readonly [number, string, () => Operation])[] = [
    [6, 'turns', () => drawTurn(random, without)],
    [3, 'edits', () => ({ kind: 'edit', session, script: drawScript(random, without) })],
    [6, 'rewinds', () => drawRewind(random, session, without)],
    [2, 'undo', () => ({ kind: 'undo', session, force: random.nat(3) === 0 })],
    [
      2,
      'forks',
      () => ({ kind: 'fork', session, at: random.bool() ? among(random) : null, how: drawHow(random, without) }),
    ],
    [2, 'diff', () => ({ kind: 'diff', session, from: drawPoint(random), to: drawPoint(random) })],
    [1, 'apply', () => ({ kind: 'apply', session, edit: random.bool() ? drawScript(random, without) : null })],
    [1, 'compactions', () => ({ kind: 'compact', session })],
    [1, 'gc', () => ({ kind: 'gc' })],
    [1, 'kills', () => ({ kind: 'restart' })],
  ];
  return random.weighted(
    choices.filter(([, name]) => !without.has(name)).map(([weight, , make]) => [weight, make] as const),
  );
}

const drawHow = (random: Random, without: ReadonlySet<string>): 'files' | 'worktree' =>
  without.has('worktrees') || random.nat(3) > 0 ? 'files' : 'worktree';

const drawPoint = (random: Random): number | null => (random.nat(2) === 0 ? among(random) : null);

function drawRewind(random: Random, session: number, without: ReadonlySet<string>): Operation {
  const parts = (['both', 'both', 'files', 'conversation'] as const).filter((part) => !without.has(part));
  return {
    kind: 'rewind',
    session,
    to: random.bool() ? among(random) : null,
    part: random.pick(parts as ['both']),
    force: random.nat(3) === 0,
  };
}

export function killsWorkers({ operations }: WalkPlan): boolean {
  return operations.some((one) => one.kind === 'restart' || (one.kind === 'turn' && one.killedAt !== undefined));
}
