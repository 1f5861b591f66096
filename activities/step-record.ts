// A step record holds the result of one step. It is created once, before the step returns. If the
// completion is lost, the next attempt finds the record and pays for no second call. If two
// attempts finish, the first counts and the other's segment is an orphan. A step that a reset
// schedules again finds the record too. A record with a head happened, and stays. A record without
// one (it failed, it was stopped) ended with its run, and the step gets another try under the next
// number.
import { randomUUID } from 'node:crypto';
import type { Hash, SessionId } from '../workflows/contract/ids.ts';
import type { Attempt } from './attempt.ts';
import { RecentMap } from '../system/recent-map.ts';
import { stepKey } from '../store/log/step-records.ts';
import { type CreateOutcome, type Store } from '../store/values/store.ts';

export type StepRecord<Result> = {
  /**
   * Reads the result. `isOver` passes over a record that this very run made and its server has
   * forgotten.
   */
  read(isOver?: (result: Result) => boolean): Promise<Result | null>;
  /**
   * Stores `blobs`, then the record. Returns the result that counts from now on: `result`, or what
   * an earlier attempt recorded.
   */
  record(
    result: Result,
    ...blobs: readonly Uint8Array[]
  ): Promise<{ readonly result: Result; readonly first: boolean }>;
  /** Returns the result that this attempt has recorded, as the first. */
  own(): Result | null;
  /** Tells whether the record was looked for before the step was made. */
  wasRead(): boolean;
};

type StoredStep<Result> = {
  readonly result: Result;
  /** Temporal's id of the workflow run that recorded it. */
  readonly run: string;
  /** A random id that tells our own record from an equal one of another attempt. */
  readonly nonce: string;
};

/**
 * Opens a step's record. `request` identifies the step: the same request is the same step, whatever
 * the attempt.
 */
export function openStepRecord<Result>(
  store: Store,
  { session, run }: Pick<Attempt, 'session' | 'run'>,
  chain: string,
  request: unknown,
): StepRecord<Result> {
  /** The number of this step's try, from 1: those before it are over. */
  let at = 1;
  let ownResult: Result | null = null;
  let wasRead = false;
  const key = (): string => stepKey({ session, chain }, request, at);
  const counts = (found: StoredStep<Result>): boolean => found.run === run || isKept(found.result);
  return {
    read: async (isOver = () => false) => {
      wasRead = true;
      for (; ; at += 1) {
        const bytes = await store.read(key());
        const found = bytes && decode<Result>(bytes);
        if (!found) return null;
        if (counts(found) && !isOver(found.result)) return found.result;
      }
    },
    record: async (result, ...blobs) => {
      const stored: StoredStep<Result> = { result, run, nonce: randomUUID() };
      const bytes = new TextEncoder().encode(JSON.stringify(stored));
      for (; ; at += 1) {
        const found = pickRecord(await store.writeStep({ key: key(), bytes, blobs }), stored);
        if (!counts(found)) continue;
        const first = found.nonce === stored.nonce;
        if (first) ownResult = result;
        return { result: found.result, first };
      }
    },
    own: () => ownResult,
    wasRead: () => wasRead,
  };
}

/**
 * Remembers heads, because one step needs no look for its record: the first attempt at the first
 * step after a head that this very worker wrote last.
 */
type RememberedHeads = {
  /**
   * Answers true once for a head: a step that comes a second time may have been made. False after a
   * reset or a handover, which are other runs.
   */
  isNew(attempt: Attempt, head: Hash | null): boolean;
  wrote(attempt: Attempt, result: object | null): void;
};

/** The number of sessions that are remembered; a forgotten one costs a look. */
const SESSIONS = 1_000;

export function rememberHeads(): RememberedHeads {
  const last = new RecentMap<SessionId, string>(SESSIONS);
  const name = ({ run }: Attempt, head: unknown): string => `${run} ${String(head)}`;
  return {
    isNew: (attempt, head) => {
      const isLast = last.get(attempt.session) === name(attempt, head);
      last.delete(attempt.session);
      return isLast && attempt.number === 1;
    },
    wrote: (attempt, result) => {
      if (result && 'head' in result) last.set(attempt.session, name(attempt, result.head));
    },
  };
}

/**
 * Returns the record that counts. A create that took effect while its answer was lost finds itself.
 */
function pickRecord<Result>(created: CreateOutcome, own: StoredStep<Result>): StoredStep<Result> {
  return created.kind === 'created' ? own : decode(created.bytes);
}

function decode<Result>(bytes: Uint8Array): StoredStep<Result> {
  return JSON.parse(new TextDecoder().decode(bytes)) as StoredStep<Result>;
}

/**
 * Tells whether a result stays for later runs: texts of the session's start are asked for once, and
 * a stored reply or boundary is not made twice.
 */
function isKept(result: unknown): boolean {
  if (Array.isArray(result)) return true;
  if (typeof result !== 'object' || result === null) return false;
  return 'head' in result && !('kind' in result && result.kind === 'failed');
}

/**
 * Makes a test for records of a stop that was lost. A stopped step records "nothing"; an attempt
 * that was not stopped finds that record where the server has lost the stop with its last moments,
 * and passes over it.
 */
export function isForgotten({ abortedBy }: Attempt): (result: { readonly kind: string }) => boolean {
  return ({ kind }) => kind === 'nothing' && abortedBy() !== 'stop';
}
