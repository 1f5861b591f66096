// A wait that a provider asked for (L14) is stored before it is announced: an attempt that follows a worker which died in between
// waits for what is left of it, instead of asking again at once.
import { createHash } from 'node:crypto';
import type { Attempt } from '../attempt.ts';
import type { Deps } from '../deps.ts';
import type { RunConfig } from '../run-config.ts';
import { keySegment } from '../transcript/store/store.ts';
import type { Tries } from './failed-attempt.ts';

/** One attempt of one step. */
export type Waiting = {
  readonly deps: Pick<Deps, 'store' | 'now'>;
  readonly attempt: Pick<Attempt, 'session' | 'number'>;
  readonly input: unknown;
  readonly config: Pick<RunConfig, 'chain'>;
};

export type Wait = { readonly waitMs: number; readonly detail: string };

/** `at`: milliseconds since the epoch, by the clock of the worker that was asked to wait. */
type Kept = Wait & { readonly at: number; readonly tries: Tries };

/** `tries` counts the failure that it follows. Durable when it resolves. */
export async function keepWait(waiting: Waiting, tries: Tries, { waitMs, detail }: Wait): Promise<void> {
  const kept: Kept = { at: waiting.deps.now(), waitMs, detail, tries };
  await waiting.deps.store.create(keyOf(waiting, countOf(tries)), new TextEncoder().encode(JSON.stringify(kept)));
}

/**
 * Null when nothing is left of it, as after a wait that Temporal was told of. `tries`: what the attempt remembers, which may be less than
 * what was stored. Where workers' clocks differ it is wrong by as much, and never longer than the whole wait.
 */
export async function leftOfWait(waiting: Waiting, tries: Tries): Promise<(Wait & { readonly tries: Tries }) | null> {
  if (waiting.attempt.number === 1) return null;
  const count = countOf(tries);
  const kept = (await readWait(waiting, count + 1)) ?? (await readWait(waiting, count));
  if (!kept) return null;
  const waitMs = Math.min(kept.waitMs, kept.at + kept.waitMs - waiting.deps.now());
  return waitMs > 0 ? { waitMs, detail: kept.detail, tries: kept.tries } : null;
}

const countOf = ({ failures, empties }: Tries): number => failures + empties;

async function readWait(waiting: Waiting, count: number): Promise<Kept | null> {
  const bytes = await waiting.deps.store.read(keyOf(waiting, count));
  return bytes && (JSON.parse(new TextDecoder().decode(bytes)) as Kept);
}

function keyOf({ attempt: { session }, input, config: { chain } }: Waiting, count: number): string {
  const step = createHash('sha256')
    .update(JSON.stringify([chain, input]))
    .digest('hex');
  return `waits/${keySegment(session)}/${step}-${count}`;
}
