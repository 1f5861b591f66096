// Lays the uploaded skills of a session into folders below its /mnt (G64). A version never changes:
// a folder that is there is whole, and no tool of the session writes there.
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { SKILL_BOUNDS, type Skills } from '../../../store/values/skills.ts';
import { StoreError } from '../../../store/values/store.ts';
import { withLock } from '../../../system/process/file-lock.ts';
import { realOf } from '../../../system/process/places.ts';
import { readZip } from '../../../system/zip.ts';
import { type Mounts, toMachine } from './mounts.ts';

/** The skills of a store as the tools of a worker reach them. */
export type SkillArchives = Pick<Skills, 'archiveOf'>;

const LOCK_MS = 60_000;

/** Throws StoreError. */
export async function laySkillFolders(skills: SkillArchives, mounts: Mounts): Promise<void> {
  for (const { path, skill } of mounts.all) {
    const folder = toMachine(mounts, path);
    if (skill === undefined || realOf(folder) !== null) continue;
    const place = join(`${mounts.root}-state`, skill);
    await withLock(place, { doing: `laying ${path}`, waitMs: LOCK_MS }, () => laySkill(skills, skill, folder, place));
  }
}

async function laySkill(skills: SkillArchives, skill: string, folder: string, place: string): Promise<void> {
  if (realOf(folder) !== null) return;
  const archive = await skills.archiveOf(skill);
  if (archive === null) throw new StoreError('missing', `the files of skill version ${skill} are missing`);
  const fresh = join(place, 'new');
  rmSync(fresh, { recursive: true, force: true });
  for (const { path, bytes, isExecutable } of await readZip(archive, SKILL_BOUNDS)) {
    const file = join(fresh, path.slice(path.indexOf('/')));
    await mkdir(dirname(file), { recursive: true, mode: 0o755 });
    await writeFile(file, bytes, { mode: isExecutable ? 0o555 : 0o444, flush: true });
  }
  mkdirSync(dirname(folder), { recursive: true, mode: 0o700 });
  renameSync(fresh, folder);
}
