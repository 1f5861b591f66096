// The port for cleaning a store, apart from the one that sessions use: it lists what lies there and
// removes it. A value that a session could still name is never removed at once: it is first set
// aside, where readers still find it, and removed when no session has named it for the grace period
// (W4).
import type { Hash } from '../../workflows/contract/ids.ts';

export type StoredObject = {
  /** `aside`: a value that an earlier cleaning has set aside. */
  readonly kind: 'value' | 'aside' | 'record';
  /** The hash of a value, or the key of a record. */
  readonly name: string;
  readonly bytes: number;
  /**
   * Milliseconds since the epoch, by the clock of the store: when it was last written, renewed or
   * set aside.
   */
  readonly at: number;
  /** Present when other names have the same bytes: removing the last of them frees these. */
  readonly shared?: { readonly file: string; readonly names: number };
};

export type RecordContents = {
  readonly bytes: Uint8Array;
  /** Values that the record carries, perhaps their only copies. */
  readonly values: readonly Uint8Array[];
};

/** Every method throws StoreError. */
export type StoreCare = {
  /** Lists objects in no particular order, as they are read: the list is never held as a whole. */
  list(kind: StoredObject['kind']): AsyncIterable<StoredObject>;
  /** Reads a value as `Store.get` does, past this machine's cache; null when it is missing. */
  value(hash: Hash): Promise<Uint8Array | null>;
  /** Resolves to null when the record is gone. */
  record(key: string): Promise<RecordContents | null>;
  /**
   * Sets a value aside: from here on it is kept for its readers alone. Resolves to false when it
   * was renewed after `olderThan`, or has gone.
   */
  setAside(hash: Hash, olderThan: number): Promise<boolean>;
  /** Undoes `setAside`. */
  putBack(hash: Hash): Promise<void>;
  /**
   * Removes an object for good. Resolves to false when it was renewed after `olderThan`, or has
   * gone.
   */
  remove(object: StoredObject, olderThan: number): Promise<boolean>;
};
