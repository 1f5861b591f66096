// Work that this worker cannot do and another may is not a failure of the run: it is retried after
// a while, until a worker takes it.
import { ApplicationFailure } from '@temporalio/common';
import { StoreError } from '../store/values/store.ts';

const KINDS = [
  'NewerVersion',
  'NoRealModel',
  'HooksMissing',
  'StopsOnly',
  'KeyMissing',
  'FolderElsewhere',
  'Busy',
] as const;

/**
 * Makes the failure that leaves work which this worker cannot take to another one; it is not a
 * failure of the run, and is tried again after a while until a worker takes it. `message` says what
 * this worker lacks and what to do. `soon`: another worker is likely to be running.
 */
export function forAnotherWorker(kind: (typeof KINDS)[number], message: string, soon = false): ApplicationFailure {
  return ApplicationFailure.create({ type: kind, message, nextRetryDelay: soon ? '500ms' : '5s' });
}

/**
 * The number of attempts that are left to workers of other hosts; the first of them follow soon.
 * After them no host is left to ask.
 */
const LEFT_TO_OTHERS = 40;
const LEFT_SOON = 20;

/** Throws what leaves a folder to another host, as long as one is left to ask. */
export function leaveFolderToOthers(number: number, message: string): void {
  if (number <= LEFT_TO_OTHERS) throw forAnotherWorker('FolderElsewhere', message, number <= LEFT_SOON);
}

/**
 * Tells whether an error leaves the work to another worker; a value that a newer Perdure stored
 * counts too, because `createActivity` makes such a failure of it.
 */
export function isForAnotherWorker(error: unknown): boolean {
  if (error instanceof StoreError) return error.problem === 'newer';
  return error instanceof ApplicationFailure && KINDS.some((kind) => kind === error.type);
}
