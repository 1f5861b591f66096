// Files that people upload and that sessions have (G66). One resource log has what is known of
// each; a record names its bytes, so that gc may drop them once the file is deleted.
import { z } from 'zod';
import type { Hash } from '../../workflows/contract/ids.ts';
import { ResourceLog, type Resources } from './resource-log.ts';
import { parseStored, type Store } from './store.ts';

/** Where sessions see the files that were attached to them, and where they leave what they make. */
export const UPLOADS = '/mnt/session/uploads';
export const OUTPUTS = '/mnt/session/outputs';

/** The folder of outputs lies beside its session's workspace. */
export const outputsOf = (workspace: string): string => `${workspace}.outputs`;

/** Records of bytes are `file-bytes/<file id>`. */
export const FILE_BYTES = 'file-bytes';

/** `createdAt`: milliseconds since the epoch. `size` is in bytes. */
export type FileItem = {
  readonly createdAt: number;
  readonly filename: string;
  readonly mimeType: string;
  readonly size: number;
  /** The session whose file it is; absent for an upload. */
  readonly session?: string;
  /** Where its session sees it, below the folder of uploads; absent for what the session made. */
  readonly mount?: string;
  /** Where the session made it, below its folder of outputs. */
  readonly output?: string;
  /** The name of an output's content where it was captured. */
  readonly blob?: string;
};

/**
 * What a run's tools see of a session's files: those that are attached to the session `of`, and the
 * folder of outputs, an absolute real path.
 */
export type SessionFiles = { readonly of: string; readonly outputs: string };

/** A file that is attached to a session. */
export type AttachedFile = readonly [id: string, item: FileItem & { readonly mount: string }];

/** Returns the files that are attached to a session, in the order of their attachment. */
export function attachedTo(items: Resources<FileItem>, session: string): readonly AttachedFile[] {
  return [...items].filter((one): one is [string, AttachedFile[1]] => {
    const [, item] = one;
    return item.session === session && item.mount !== undefined;
  });
}

const bytesShape = z.object({ v: z.literal(1), hash: z.string() });

export class Files {
  readonly log: ResourceLog<FileItem>;
  readonly #store: Store;

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.log = new ResourceLog({ store, name: 'files', now });
  }

  /** Stores the bytes of a file, before its item is appended to the log. Returns their hash. */
  async keepBytes(id: string, bytes: Uint8Array): Promise<Hash> {
    const hash = await this.#store.put(bytes);
    await this.nameBytes(id, hash);
    return hash;
  }

  /** Gives a file bytes that are stored already. The first bytes of an id stay. */
  async nameBytes(id: string, hash: Hash): Promise<void> {
    await this.#store.create(`${FILE_BYTES}/${id}`, Buffer.from(JSON.stringify({ v: 1, hash })));
  }

  /** Returns the hash of a file's bytes; null for a file that has none any more. */
  async hashOf(id: string): Promise<Hash | null> {
    const record = await this.#store.read(`${FILE_BYTES}/${id}`);
    return (bytesShape.safeParse(record && parseStored(record)).data?.hash ?? null) as Hash | null;
  }

  async bytesOf(id: string): Promise<Uint8Array | null> {
    const hash = await this.hashOf(id);
    return hash && this.#store.get(hash);
  }
}
