// Starts a command, and once more where its sandbox was not built: a socket that was to be masked
// had gone, and nothing was run.
import { setTimeout as sleep } from 'node:timers/promises';
import { isNeverBuilt, MOST_BUILDS } from '../../../system/process/bwrap.ts';
import { childrenOf, programName } from '../../../system/process/proc.ts';
import type { ProcessTree } from '../../../system/process/spawn-tree.ts';

type OnOutput = (bytes: Uint8Array) => void;

export type StartOnce = (
  onOutput: OnOutput,
) => Promise<{ readonly tree: ProcessTree; readonly argv: readonly string[] }>;

/**
 * A sandbox that is not built says so at once, unless the machine is busy: a command that is silent
 * for so long runs, unless all of its processes are still those that build.
 */
const SILENT_MS = 200;
const MOST_LOOKS = 50;
/** The status of a sandbox that was not built. */
const NOT_BUILT = 1;
const DRAIN_MS = 200;
const BEGINNING = Buffer.from("bwrap: Can't ");

/** Passes on what a command prints, and drops the complaint of a sandbox that ran none. */
export async function startBuilt(start: StartOnce, onOutput: OnOutput, signal?: AbortSignal): Promise<ProcessTree> {
  for (let count = 1; ; count += 1) {
    const early = new EarlyOutput(onOutput);
    const { tree, argv } = await start((bytes) => early.add(bytes));
    const exited = tree.exit.then(async ({ code }) => {
      if (code === NOT_BUILT) await Promise.race([tree.drained, sleep(DRAIN_MS)]);
      return code === NOT_BUILT;
    });
    const isOver = await Promise.race([exited, early.isOther.then(() => false), waitSilent(tree.leader.pid, signal)]);
    if (count < MOST_BUILDS && isOver && isNeverBuilt(early.text(), argv)) continue;
    early.pass();
    return tree;
  }
}

/** Resolves with false, also when the command is to be stopped. */
async function waitSilent(pid: number, signal: AbortSignal | undefined): Promise<boolean> {
  for (let count = 0; count < MOST_LOOKS; count += 1) {
    await sleep(SILENT_MS, undefined, { ref: false, ...(signal && { signal }) }).catch(() => undefined);
    if (signal?.aborted === true || !isBeingBuilt(pid)) return false;
  }
  return false;
}

const isBeingBuilt = (pid: number): boolean =>
  programName(pid) === 'bwrap' && childrenOf(pid)?.every(isBeingBuilt) === true;

class EarlyOutput {
  /** Resolves when something was printed that is no complaint of the sandbox. */
  readonly isOther: Promise<void>;
  readonly #onOutput: OnOutput;
  readonly #pending: Buffer[] = [];
  #isPassing = false;
  #tellOther: () => void = () => undefined;

  constructor(onOutput: OnOutput) {
    this.#onOutput = onOutput;
    this.isOther = new Promise((resolve) => (this.#tellOther = resolve));
  }

  add(bytes: Uint8Array): void {
    if (this.#isPassing) return this.#onOutput(bytes);
    this.#pending.push(Buffer.from(bytes));
    const output = Buffer.concat(this.#pending);
    const length = Math.min(output.length, BEGINNING.length);
    if (!output.subarray(0, length).equals(BEGINNING.subarray(0, length))) this.#tellOther();
  }

  text(): string {
    return Buffer.concat(this.#pending).toString('utf8');
  }

  pass(): void {
    this.#isPassing = true;
    for (const bytes of this.#pending.splice(0)) this.#onOutput(bytes);
  }
}
