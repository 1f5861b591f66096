// Keeps the heap of a process near what is in use.
import { setFlagsFromString } from 'node:v8';

/** The percent for a process with a worker, which costs no time that could be measured. */
export const WORKER_HEAP = 40;

/** Megabytes of each half for young objects. V8's own 16 are three times as much in a thread. */
const YOUNG_MB = 4;

/**
 * Tells V8 to collect garbage when the heap has grown by `percent`. By itself it waits until the
 * heap has up to four times what is in use, and in a process that stays such memory is never given
 * back. Threads begun later, such as that of workflows, also get less room for young objects. It
 * counts for the whole process: a library leaves it to the program.
 */
export function keepHeapSmall(percent: number): void {
  setFlagsFromString(`--heap-growing-percent=${percent}`);
  setFlagsFromString(`--max-semi-space-size=${YOUNG_MB}`);
}
