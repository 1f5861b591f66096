// The one port to durable bytes. Values are content-addressed and immutable; keys are written once.
// There is no list, no delete and no mutable value: nothing in the product needs one.
import type { Hash } from '../../workflows/contract/ids.ts';

export type Created =
  | { readonly kind: 'created' }
  /** Someone was first: `bytes` is what they wrote, and stays. */
  | { readonly kind: 'existing'; readonly bytes: Uint8Array };

export type Store = {
  /** Durable when it resolves. The same bytes give the same hash, and writing them again is harmless. */
  put(bytes: Uint8Array): Promise<Hash>;
  /** The bytes, checked against their hash. Throws StoreError `missing` or `corrupt`. */
  get(hash: Hash): Promise<Uint8Array>;
  /** Whether something is stored under it; only `get` says whether it is whole. */
  has(hash: Hash): Promise<boolean>;
  /**
   * Conditional create of `key` (segments of [A-Za-z0-9._-], joined by `/`; no key is a folder of another): of all who
   * try, one creates. Durable when it resolves.
   */
  create(key: string, bytes: Uint8Array): Promise<Created>;
  /** What was created under `key`, or null. Throws StoreError `corrupt` when the record is damaged. */
  read(key: string): Promise<Uint8Array | null>;
  /** What one step produces, written together: cheaper than `put` then `create`. Who finds `key` can get `blobs`, always. */
  writeStep(step: StepWrite): Promise<Created>;
};

/** When `key` exists already, the answer is `existing` and `blobs` may not have been written: the first step's were. */
export type StepWrite = {
  readonly key: string;
  readonly bytes: Uint8Array;
  readonly blobs: readonly Uint8Array[];
};

/** `newer`: it is whole, and a newer Perdure wrote it. */
export type StoreProblem = 'missing' | 'corrupt' | 'newer' | 'unavailable';

/** A sentence for people: which value, what is wrong with it, where it is. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly problem: StoreProblem;
  constructor(problem: StoreProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

/** What no retry and no other worker will find whole. */
export function isDamage(error: unknown): error is StoreError {
  return error instanceof StoreError && (error.problem === 'missing' || error.problem === 'corrupt');
}
