// What this worker cannot take and another may: not a failure of the run. It is tried again after a while, until one takes it.
import { ApplicationFailure } from '@temporalio/common';
import { StoreError } from './transcript/store/store.ts';

const kinds = ['NewerVersion', 'NoRealModel', 'HooksMissing', 'StopsOnly', 'KeyMissing'] as const;

/** `message`: what this worker lacks, and what to do. */
export function forAnotherWorker(kind: (typeof kinds)[number], message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: kind, message, nextRetryDelay: '5s' });
}

/** Also of what a newer Perdure stored: `activity` makes one of it. */
export function isForAnotherWorker(error: unknown): boolean {
  if (error instanceof StoreError) return error.problem === 'newer';
  return error instanceof ApplicationFailure && kinds.some((kind) => kind === error.type);
}
