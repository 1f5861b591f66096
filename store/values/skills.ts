// Skills that people upload (G64). One resource log has the skills with the ids of their versions,
// and a record names the bytes of each version: a zip archive with one folder. Another log has the
// versions that sessions began with, which stay theirs once somebody has deleted them.
import { z } from 'zod';
import type { Hash } from '../../workflows/contract/ids.ts';
import { ResourceLog } from './resource-log.ts';
import { parseStored, type Store } from './store.ts';

/** Records of versions are `skill-versions/<version id>`. */
export const SKILL_VERSIONS = 'skill-versions';

/** The most files of a version, and bytes of all of them together. */
export const SKILL_BOUNDS = { files: 500, bytes: 30 * 1024 * 1024 } as const;

/** Times in milliseconds since the epoch. `name`: the folder; the newest version comes last. */
export type SkillItem = {
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly displayName: string;
  readonly name: string;
  readonly versions: readonly string[];
};

const versionShape = z.object({
  v: z.literal(1),
  hash: z.string(),
  skill: z.string(),
  name: z.string(),
  description: z.string(),
  createdAt: z.number(),
});

/** A version as its SKILL.md describes it, and the skill whose version it is. */
export type SkillVersion = Omit<z.output<typeof versionShape>, 'v' | 'hash'>;

export class Skills {
  readonly log: ResourceLog<SkillItem>;
  /** By session. */
  readonly ofSessions: ResourceLog<{ readonly versions: readonly string[] }>;
  readonly #store: Store;

  constructor(store: Store, now: () => number) {
    this.#store = store;
    this.log = new ResourceLog({ store, name: 'skills', now });
    this.ofSessions = new ResourceLog({ store, name: 'session-skills', now });
  }

  /** Stores a version before its skill names it. The first bytes of an id stay. */
  async keepVersion(id: string, version: SkillVersion, archive: Uint8Array): Promise<void> {
    const hash = await this.#store.put(archive);
    await this.#store.create(`${SKILL_VERSIONS}/${id}`, Buffer.from(JSON.stringify({ v: 1, hash, ...version })));
  }

  async #read(id: string): Promise<z.output<typeof versionShape> | null> {
    const record = await this.#store.read(`${SKILL_VERSIONS}/${id}`);
    return versionShape.safeParse(record && parseStored(record)).data ?? null;
  }

  /** Returns a version, also one that was deleted, while its record is there; else null. */
  async version(id: string): Promise<SkillVersion | null> {
    const found = await this.#read(id);
    if (found === null) return null;
    const { v: _, hash: __, ...version } = found;
    return version;
  }

  /** Returns the archive of a version; null where its record is gone. */
  async archiveOf(id: string): Promise<Uint8Array | null> {
    const found = await this.#read(id);
    return found && this.#store.get(found.hash as Hash);
  }

  /** Returns the ids of versions whose records are needed. */
  async kept(): Promise<readonly string[]> {
    // A version that a session took before it was deleted is in the log that is read last.
    const skills = await this.log.read();
    const sessions = await this.ofSessions.read();
    return [...skills.values(), ...sessions.values()].flatMap(({ versions }) => versions);
  }
}
