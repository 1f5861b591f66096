// What happens to hosts: every few seconds one of them is cut off, frozen, killed, killed with its
// disk, or told to leave its sessions to the others, and comes back later. One host at least is always left alone.
import { setTimeout as sleep } from 'node:timers/promises';
import { random } from '../../support/random.ts';
import type { Host } from './host.ts';

const KINDS = ['cut off', 'frozen', 'killed', 'wiped', 'drained'] as const;
export type FaultKind = (typeof KINDS)[number];

const EVERY_MS = 10_000;

export type FaultCounts = Readonly<Record<FaultKind, number>>;

/** Goes on until `signal` is aborted, and resolves when all hosts are back. */
export async function haveFaults(
  hosts: readonly Host[],
  { seed, signal, say }: { readonly seed: number; readonly signal: AbortSignal; readonly say: (line: string) => void },
): Promise<FaultCounts> {
  const dice = random(seed);
  const counts = { 'cut off': 0, frozen: 0, killed: 0, wiped: 0, drained: 0 };
  const running = new Set<Promise<void>>();
  while (!signal.aborted) {
    const host = hosts[dice.nat(hosts.length - 1)];
    const kind = KINDS[dice.nat(KINDS.length - 1)] ?? 'wiped';
    // Drawn whether it happens or not: the same seed draws the same faults.
    const seconds = kind === 'cut off' || kind === 'frozen' ? 5 + dice.nat(55) : 5 + dice.nat(25);
    const left = hosts.filter(({ state }) => state === 'up');
    if (host?.state === 'up' && left.length > 1) {
      say(`${host.name} is ${kind} for ${seconds} s`);
      counts[kind] += 1;
      await begin(host, kind);
      const back = comeBack(host, kind, { ms: seconds * 1_000, signal }).finally(() => running.delete(back));
      running.add(back);
    }
    await rest(EVERY_MS, signal);
  }
  await Promise.all(running);
  return counts;
}

async function begin(host: Host, kind: FaultKind): Promise<void> {
  if (kind === 'cut off') host.cutOff();
  else if (kind === 'frozen') host.freeze();
  else if (kind === 'killed') await host.kill();
  else if (kind === 'drained') host.drain();
  else await host.wipe();
}

type Wait = { readonly ms: number; readonly signal: AbortSignal };

async function comeBack(host: Host, kind: FaultKind, { ms, signal }: Wait): Promise<void> {
  await Promise.all([rest(ms, signal), kind === 'drained' && host.drained()]);
  if (kind === 'cut off') host.reconnect();
  else if (kind === 'frozen') host.thaw();
  else await host.start();
}

/** The signal ends it early. */
export async function rest(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => undefined);
}
