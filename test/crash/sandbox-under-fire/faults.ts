// What happens to sandboxes, and now and then to the server and to the worker of Perdure: a seed
// draws who is killed and who is frozen, and for how long.
import { random, type Random } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import { rest } from '../hosts-under-fire/faults.ts';
import type { Sandbox } from './sandbox.ts';
import type { Supervised } from './services.ts';

const BETWEEN_MS = { least: 2_000, most: 8_000 } as const;
/** Each so many faults, a process of Perdure is killed as well. */
const OWN_EVERY = 8;

export type Faults = { readonly kills: number; readonly freezes: number };
export type FaultCounts = Record<'killed' | 'killed alone' | 'frozen' | 'server' | 'worker', number>;

type Burning = {
  readonly sandboxes: readonly Sandbox[];
  readonly own: readonly Supervised[];
  readonly seed: number;
  readonly say: (line: string) => void;
};

const never = new AbortController().signal;

/** Resolves when all faults have been, and all is up again. */
export async function haveFaults({ kills, freezes }: Faults, burning: Burning): Promise<FaultCounts> {
  const { sandboxes, own, seed, say } = burning;
  const dice = random(seed);
  const counts: FaultCounts = { killed: 0, 'killed alone': 0, frozen: 0, server: 0, worker: 0 };
  const running = new Set<Promise<void>>();
  const kinds = shuffled(dice, [...times(kills, 'kill'), ...times(freezes, 'freeze')]);
  for (const [at, kind] of kinds.entries()) {
    const sandbox = await until(() => victim(dice, sandboxes));
    const { what, seconds } = draw(dice, kind);
    say(`${sandbox.name} is ${what} for ${seconds} s`);
    counts[what] += 1;
    const back = suffer(sandbox, what, seconds * 1_000).finally(() => running.delete(back));
    running.add(back);
    const hit = at % OWN_EVERY === OWN_EVERY - 1 ? own[dice.nat(own.length - 1)] : undefined;
    if (hit) {
      say(`the ${hit.name} is killed`);
      counts[hit.name] += 1;
      await hit.killAndStart();
    }
    await rest(BETWEEN_MS.least + dice.nat(BETWEEN_MS.most - BETWEEN_MS.least), never);
  }
  await Promise.all(running);
  return counts;
}

type Drawn = 'kill' | 'freeze';

const times = (count: number, kind: Drawn): readonly Drawn[] => Array.from({ length: count }, () => kind);

type What = 'killed' | 'killed alone' | 'frozen';

/** Half of the freezes are shorter than twenty seconds, around the lease. */
function draw(dice: Random, kind: Drawn): { readonly what: What; readonly seconds: number } {
  if (kind === 'freeze') return { what: 'frozen', seconds: 1 + dice.nat(dice.bool() ? 19 : 89) };
  return { what: dice.bool() ? 'killed' : 'killed alone', seconds: 1 + dice.nat(9) };
}

/** One that is up, where it is not the last. */
function victim(dice: Random, all: readonly Sandbox[]): Sandbox | null {
  const up = all.filter(({ state }) => state === 'up');
  return up.length > 1 ? (up[dice.nat(up.length - 1)] ?? null) : null;
}

async function suffer(sandbox: Sandbox, what: What, ms: number): Promise<void> {
  if (what === 'frozen') sandbox.freeze();
  else await sandbox.kill({ alone: what === 'killed alone' });
  await rest(ms, never);
  if (what === 'frozen') sandbox.thaw();
  else sandbox.start();
}

function shuffled<T>(dice: Random, all: readonly T[]): readonly T[] {
  const left = [...all];
  return all.map(() => left.splice(dice.nat(left.length - 1), 1)[0] as T);
}
