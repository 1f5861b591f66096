// A store as cleaning it needs it, beside the port that sessions use: what lies there, and how it
// goes. Nothing goes at once that a session could still name: a value is first set aside, where
// readers still find it, and removed when nobody has named it for the grace period (W4).
import type { Hash } from '../../workflows/contract/ids.ts';

export type StoredObject = {
  /** `aside`: a value that an earlier cleaning has set aside. */
  readonly kind: 'value' | 'aside' | 'record';
  /** A hash; of a record, its key. */
  readonly name: string;
  readonly bytes: number;
  /**
   * Milliseconds since the epoch: last written, renewed or set aside, by the clock of the store.
   */
  readonly at: number;
  /** Present when other names have the same bytes: the last of them that goes frees these. */
  readonly shared?: { readonly file: string; readonly names: number };
};

export type RecordContents = {
  readonly bytes: Uint8Array;
  /** Values that it carries, perhaps their only copies. */
  readonly values: readonly Uint8Array[];
};

/** Every method throws StoreError. */
export type StoreCare = {
  /** In no order, as it is read: never held as a whole. */
  list(kind: StoredObject['kind']): AsyncIterable<StoredObject>;
  /** As `Store.get` gives it, past what this machine has cached; null when it is missing. */
  value(hash: Hash): Promise<Uint8Array | null>;
  /** Null when it is gone. */
  record(key: string): Promise<RecordContents | null>;
  /**
   * From here on it is kept for its readers alone. False when it was renewed after `olderThan`, or
   * has gone.
   */
  setAside(hash: Hash, olderThan: number): Promise<boolean>;
  /** Undoes `setAside`. */
  putBack(hash: Hash): Promise<void>;
  /** For good. False when it was renewed after `olderThan`, or has gone. */
  remove(object: StoredObject, olderThan: number): Promise<boolean>;
};
