// Kills at every step: an operation is carried out again and again, killed before its first step,
// its second, and so on until it ends before the next one is reached. Each time what comes of it is
// held against the model, as in any walk.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { StepProgram, Stepping } from './copy-product.ts';
import type { Bounds } from './expect-files.ts';
import { goBack, undo, type RunRewind } from './go-back.ts';
import type { Product, Ran } from './product.ts';
import { takeTurn } from './take-turn.ts';
import { apply, collectGarbage, diff, fork } from './try-again.ts';
import { openWalk, type Walk } from './walk.ts';
import type { WalkSession } from './walk-session.ts';

/** Changes that make a rewind do each kind of thing that it can do. */
const FIRST = `mkdir -p b/deep empty kept; for i in 1 2 3; do echo $i > b/$i; done; echo two > b/deep/two; echo a > a
  ln -s a link; echo x > run; chmod 755 run; echo s > secret; chmod 600 secret; echo f > turned; head -c 70000 /dev/zero > large`;
const SECOND = `echo more >> a; rm -r b; echo file > b; rmdir empty; echo new > c; mkdir -p d/e/f; echo g > d/e/g
  ln -sfn b link; chmod 644 run; echo t > secret; rm turned; mkdir turned; echo in > turned/in; head -c 70000 /dev/urandom > large`;
const BEGINNING = `mkdir -p ../outside && echo kept > ../outside/kept; git init -q .; echo '*.log' > .gitignore; echo l > x.log`;

export type KillMeans = {
  readonly product: Product;
  readonly stepping: Stepping;
  readonly folder: string;
  readonly bounds: Bounds;
  /** Every so manieth step alone. */
  readonly stride: number;
  /** The first of them: 1 at least. */
  readonly first: number;
  readonly say: (line: string) => void;
};

type Scene = { readonly walk: Walk; readonly session: WalkSession };

type Killed = {
  readonly name: string;
  readonly programs: readonly StepProgram[];
  /** Carries the operation out by `run`, and brings everything back to where it was. */
  readonly act: (scene: Scene, run: RunRewind) => Promise<void>;
  /** Whether it is the worker that is killed with the program, or the program alone. */
  readonly kills: 'worker' | 'program';
};

const turn = (...steps: readonly string[]) => ({ kind: 'turn', session: 0, steps }) as const;
const back = { kind: 'rewind', session: 0, to: null, part: 'both', force: false } as const;
const undoing = { kind: 'undo', session: 0, force: false } as const;

const OPERATIONS: readonly Killed[] = [
  ...(['worker', 'program'] as const).map((kills): Killed => ({
    name: `rewind, ${kills} killed`,
    programs: kills === 'worker' ? ['capture', 'restore', 'worker'] : ['capture', 'restore'],
    kills,
    act: async ({ walk, session }, run) => {
      await goBack(walk, session, back, run);
      await undo(walk, session, undoing, walk.product.run);
    },
  })),
  {
    name: 'undo',
    programs: ['capture', 'restore', 'worker'],
    kills: 'worker',
    act: async ({ walk, session }, run) => {
      await goBack(walk, session, back, walk.product.run);
      await undo(walk, session, undoing, run);
    },
  },
  {
    name: 'fork',
    programs: ['restore', 'worker'],
    kills: 'worker',
    act: async ({ walk, session }, run) => {
      await fork(walk, session, { kind: 'fork', session: 0, at: null, how: 'files' }, run);
      const made = walk.sessions.pop();
      if (made && made !== session) await walk.product.run('cancel', made.id);
    },
  },
  {
    name: 'capture of a turn',
    programs: ['capture', 'worker'],
    kills: 'worker',
    act: async ({ walk, session }, run) => {
      const step = `echo ${walk.count} >> a; mkdir -p x; date +%N > x/${walk.count}`;
      await run('turn', JSON.stringify(turn(step, `rm -r x; echo ${walk.count} > y`)));
      await diff(walk, session, { kind: 'diff', session: 0, from: null, to: null });
      await goBack(walk, session, back, walk.product.run);
    },
  },
  {
    name: 'apply',
    programs: ['command'],
    kills: 'program',
    act: async ({ walk, session }, run) => await apply(walk, session, { kind: 'apply', session: 0, edit: null }, run),
  },
  {
    name: 'gc',
    programs: ['command'],
    kills: 'program',
    act: async ({ walk }, run) => await collectGarbage(walk, run),
  },
];

/** Returns how many steps there were, and at how many of them something was wrong. */
export async function killAtSteps(
  means: KillMeans,
  chosen: string,
): Promise<{ readonly steps: number; readonly failed: number }> {
  let [steps, failed] = [0, 0];
  for (const operation of OPERATIONS.filter(({ name }) => name.includes(chosen)))
    for (const program of operation.programs) {
      let scene = await openScene(means, `${operation.name}, ${program}`);
      for (let step = means.first; ; step += means.stride) {
        const reached = await killAt(means, scene, operation, program, step);
        if (reached === null) break;
        steps += 1;
        if (scene.walk.problems.length === 0) continue;
        failed += 1;
        means.say(`${operation.name}: killed at step ${step} of ${program}, ${reached}`);
        for (const problem of scene.walk.problems.slice(0, 6)) means.say(`  ${problem}`);
        await means.product.run('cancel', scene.session.id);
        scene = await openScene(means, `${operation.name}, ${program}`);
      }
      means.say(`${operation.name}: ${program}, ${steps} steps so far, ${failed} failed`);
      await means.product.run('cancel', scene.session.id);
    }
  return { steps, failed };
}

const NOBODY = /perdure worker/;

let scenes = 0;

async function openScene({ product, folder, bounds }: KillMeans, about: string): Promise<Scene> {
  const name = `scene${(scenes += 1)}`;
  const place = join(folder, 'walks', name);
  mkdirSync(place, { recursive: true });
  const walk = openWalk({ product, name, place, bounds, without: new Set(), beginning: BEGINNING });
  await takeTurn(walk, null, turn(FIRST));
  const [session] = walk.sessions;
  if (!session) throw new Error(`no session was opened for ${about}`);
  await takeTurn(walk, session, turn(SECOND));
  if (walk.problems.length > 0) throw new Error(`${about}: ${walk.problems.join('; ')}`);
  return { walk, session };
}

/** Returns what the step was; null when the operation ended before it was reached. */
async function killAt(
  { product, stepping }: KillMeans,
  scene: Scene,
  { act, kills }: Killed,
  program: StepProgram,
  step: number,
): Promise<string | null> {
  let what: string | null = null;
  const run: RunRewind = async (...args) => {
    stepping.arm(program, step);
    const running = carryOut(scene, product, program, args);
    const reached = await stepping.whenReached(running);
    if (reached !== null) {
      what = `${reached.name} ${reached.place.replaceAll(/[\da-f]{8,}/g, '…')}`;
      if (program === 'command') process.kill(reached.pid, 'SIGKILL');
      else if (kills === 'worker') await product.killWorker();
    }
    stepping.disarm();
    if (reached !== null && program !== 'command' && kills === 'worker') await product.startWorker();
    const ran = await running;
    // A person does again what was killed under their hands, or found nobody to do it.
    const foundNobody = ran.status !== 0 && NOBODY.test(ran.err);
    const isAgain = reached !== null && (program === 'command' || foundNobody);
    return isAgain ? await product.run(...args) : ran;
  };
  await act(scene, run).catch((error: unknown) => void scene.walk.problems.push(String(error)));
  scene.walk.problems.push(...product.problems());
  return what;
}

async function carryOut(
  { walk, session }: Scene,
  product: Product,
  program: StepProgram,
  args: readonly string[],
): Promise<Ran> {
  if (args[0] !== 'turn') return await (program === 'command' ? product.runApart(...args) : product.run(...args));
  await takeTurn(walk, session, JSON.parse(args[1] ?? '') as ReturnType<typeof turn>);
  return { status: 0, out: '', err: '' };
}
