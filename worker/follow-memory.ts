// Bounds of what a worker keeps in memory, by the memory that there is: what is beyond is read from
// the store, or replayed, when it is needed again.
import { totalmem } from 'node:os';

const MB = 1024 * 1024;

/** Memory of a worker that keeps nothing, with what runs under way need. */
const TAKEN = 320 * MB;

/** Memory of a session at rest: its workflow in V8, and the SDK's part. */
const SESSION = 0.55 * MB;

/** Stored entries take this many times their bytes in memory. */
const DECODED = 4;

const SESSIONS = { least: 20, most: 300 };
const VIEW_BYTES = { least: 8 * MB, most: 64 * MB };

/** Returns the bytes that this process may have: a container's limit, or what the machine has. */
export function memoryThereIs(): number {
  const limit = process.constrainedMemory();
  // Without a limit some systems tell 0, and others a number that no machine has.
  return limit > 0 && limit < totalmem() ? limit : totalmem();
}

/** Returns how many sessions each of a worker's queues keeps between their tasks. */
export function keptWorkflows(memory: number, queues: number): number {
  return within(SESSIONS, halfOfRest(memory) / SESSION / queues);
}

/** Returns how many stored bytes of transcripts are kept as they are read. */
export function keptViewBytes(memory: number): number {
  return within(VIEW_BYTES, halfOfRest(memory) / DECODED);
}

/** Workflows have one half, and transcripts the other. */
function halfOfRest(memory: number): number {
  return Math.max(0, memory - TAKEN) / 2;
}

function within({ least, most }: typeof SESSIONS, wanted: number): number {
  return Math.max(least, Math.min(most, Math.floor(wanted)));
}
