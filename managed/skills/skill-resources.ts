// Skills as resources (G64): versions never change, and a skill has at least one. What sessions
// began with stays theirs, whatever becomes of it.
import type {
  BetaDeletedSkill,
  BetaDeletedSkillVersion,
  BetaSkill,
  BetaSkillVersion,
} from '@anthropic-ai/sdk/resources/beta/skills';
import { StoreError } from '../../client/faces/sessions.ts';
import type { Skills } from '../../client/faces/stored.ts';
import type { SkillItem, SkillVersion } from '../../client/faces/types.ts';
import { invalid, notFound } from '../errors.ts';
import { formatTime } from '../ids.ts';
import { LIST_AGE_MS } from '../log/stored.ts';
import { sortByCreation } from '../pages.ts';

/** The content of an upload. `displayName`: null where none was sent. */
export type SkillUpload = {
  readonly name: string;
  readonly description: string;
  readonly displayName: string | null;
  readonly archive: Uint8Array;
};

/** Ids of a new version, and of the skill whose version it is. */
export type VersionIds = { readonly skill: string; readonly version: string };

/** Keeps a record of the log small. */
const MOST_VERSIONS = 1_000;

export class SkillResources {
  readonly #skills: Skills;
  readonly #now: () => number;

  constructor(skills: Skills, now: () => number) {
    this.#skills = skills;
    this.#now = now;
  }

  /** A repeated request with the same ids creates nothing new. Throws 404 once it was deleted. */
  async create({ skill: id, version }: VersionIds, by: string, upload: SkillUpload): Promise<BetaSkill> {
    const at = this.#now();
    await this.#keep({ skill: id, version }, upload, at);
    const { name, displayName } = upload;
    const item = { createdAt: at, updatedAt: at, displayName: displayName ?? name, name, versions: [version] };
    await this.#skills.log.append(by, (all, deleted) => {
      if (deleted.has(id)) throw notFound('Skill', id);
      return all.has(id) ? null : { id, item };
    });
    return this.retrieve(id);
  }

  #keep({ skill, version }: VersionIds, upload: SkillUpload, createdAt: number): Promise<void> {
    const { name, description, archive } = upload;
    return this.#skills.keepVersion(version, { skill, name, description, createdAt }, archive);
  }

  /** The same of another version. */
  async addVersion(ids: VersionIds, by: string, upload: SkillUpload): Promise<BetaSkillVersion> {
    const { skill: id, version } = ids;
    requireName(await this.#item(id), upload);
    const at = this.#now();
    await this.#keep(ids, upload, at);
    await this.#skills.log.append(by, (all, deleted) => {
      const item = all.get(id);
      if (!item) throw notFound('Skill', id);
      if (deleted.has(version)) throw notFound('Skill version', version);
      if (item.versions.includes(version)) return null;
      if (item.versions.length >= MOST_VERSIONS) throw invalid(`a skill has at most ${MOST_VERSIONS} versions`);
      return { id, item: { ...item, updatedAt: at, versions: [...item.versions, version] } };
    });
    return this.version(id, version);
  }

  async #item(id: string, maxAgeMs = 0): Promise<SkillItem> {
    const item = (await this.#skills.log.read(maxAgeMs)).get(id);
    if (!item) throw notFound('Skill', id);
    return item;
  }

  async retrieve(id: string): Promise<BetaSkill> {
    return showSkill([id, await this.#item(id)]);
  }

  /** Lists skills, newest first. */
  async list(): Promise<readonly (readonly [string, SkillItem])[]> {
    return sortByCreation([...(await this.#skills.log.read(LIST_AGE_MS))]);
  }

  /** Its versions are gone with it. Throws ManagedError 404. */
  async delete(id: string, by: string): Promise<BetaDeletedSkill> {
    await this.#skills.log.append(by, (all) => {
      if (!all.has(id)) throw notFound('Skill', id);
      return { id, item: null };
    });
    return { id, type: 'skill_deleted' };
  }

  /** Returns the ids of a skill's versions, newest first. */
  async versions(id: string): Promise<readonly string[]> {
    return (await this.#item(id)).versions.toReversed();
  }

  /** `latest` names the newest. Throws ManagedError 404. */
  async version(skill: string, version: string): Promise<BetaSkillVersion> {
    const { versions } = await this.#item(skill);
    const id = version === 'latest' ? versions.at(-1)! : version;
    if (!versions.includes(id)) throw notFound('Skill version', version);
    return this.versionOfSession(id);
  }

  /** Returns a version that somebody may have deleted. */
  async versionOfSession(id: string): Promise<BetaSkillVersion> {
    return showVersion(id, await readVersion(this.#skills, id));
  }

  /** Returns the archive of a version. */
  async download(id: string): Promise<Uint8Array> {
    const archive = await this.#skills.archiveOf(id);
    if (archive === null) throw new StoreError('missing', `the files of skill version ${id} are missing`);
    return archive;
  }

  /** Throws ManagedError for the last one, which goes with its skill alone. */
  async deleteVersion(skill: string, version: string, by: string): Promise<BetaDeletedSkillVersion> {
    const check = (item: SkillItem | undefined): SkillItem => {
      if (!item?.versions.includes(version)) throw notFound('Skill version', version);
      if (item.versions.length === 1) throw invalid('a skill has at least one version: delete the skill');
      return item;
    };
    check(await this.#item(skill));
    // A late repeat of its creation finds the mark.
    await this.#skills.log.append(by, (_, deleted) => (deleted.has(version) ? null : { id: version, item: null }));
    await this.#skills.log.append(by, (all) => {
      const item = check(all.get(skill));
      const versions = item.versions.filter((one) => one !== version);
      return { id: skill, item: { ...item, updatedAt: this.#now(), versions } };
    });
    return { id: version, type: 'skill_version_deleted' };
  }

  /** Notes what a session has, so that it stays. */
  async hold(session: string, by: string, versions: readonly string[]): Promise<void> {
    if (versions.length === 0) return;
    await this.#skills.ofSessions.append(by, (all, deleted) => {
      const known = all.get(session)?.versions ?? [];
      const missed = versions.filter((version) => !known.includes(version));
      if (missed.length === 0 || deleted.has(session)) return null;
      return { id: session, item: { versions: [...known, ...missed] } };
    });
  }

  /** Forgets what a deleted session had. */
  async release(session: string, by: string): Promise<void> {
    await this.#skills.ofSessions.append(by, (all) => (all.has(session) ? { id: session, item: null } : null));
  }
}

/** Throws StoreError where the record is gone. */
export async function readVersion(skills: Skills, id: string): Promise<SkillVersion> {
  const version = await skills.version(id);
  if (version === null) throw new StoreError('missing', `skill version ${id} is missing`);
  return version;
}

/** The name of the first version names the folder of all. */
function requireName({ name }: SkillItem, upload: SkillUpload): void {
  if (upload.name === name) return;
  throw invalid(`files: the skill is named ${JSON.stringify(name)}, and this version ${JSON.stringify(upload.name)}`);
}

export const showSkill = ([id, item]: readonly [string, SkillItem]): BetaSkill => ({
  id,
  type: 'skill',
  created_at: formatTime(item.createdAt),
  updated_at: formatTime(item.updatedAt),
  display_name: item.displayName,
  latest_version_id: item.versions.at(-1)!,
  source: { type: 'custom' },
});

const showVersion = (id: string, { skill, name, description, createdAt }: SkillVersion): BetaSkillVersion => ({
  id,
  type: 'skill_version',
  created_at: formatTime(createdAt),
  description,
  name,
  skill_id: skill,
});
