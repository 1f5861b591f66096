// Folders that the tools of a session see below /mnt, whatever machine they work on.
import { findRepeated } from './list-problems.ts';

/**
 * `path` is where tools see the folder. `memory`: it holds the memories of a store, and what the
 * session writes there becomes versions of them, with the session as their author (G67). `skill`:
 * it holds the files of this version of a skill (G64).
 */
export type RunMount = {
  readonly path: string;
  readonly access: 'read_only' | 'read_write';
  readonly memory?: { readonly store: string; readonly session: string };
  readonly skill?: string;
};

/** Where all of them are. */
export const MOUNTS = '/mnt';
const MOST_MOUNTS = 100;
const LONGEST_PATH = 1_000;

export function mountsProblem(mounts: unknown): string | undefined {
  if (!Array.isArray(mounts) || mounts.length === 0 || !mounts.every(isMount))
    return `the mounts are no list of { path, access }, with paths below ${MOUNTS}`;
  if (mounts.length > MOST_MOUNTS) return `there are ${mounts.length} mounts: give at most ${MOST_MOUNTS}`;
  const twice = findRepeated(mounts.map(({ path }) => path));
  return twice === undefined ? undefined : `two mounts have the path ${twice}`;
}

function isMount(value: unknown): value is RunMount {
  if (typeof value !== 'object' || value === null) return false;
  const { path, access, memory, skill } = value as Partial<Record<keyof RunMount, unknown>>;
  if (!isMountPath(path) || !isMemory(memory)) return false;
  if (skill !== undefined) return isFileName(skill) && access === 'read_only' && memory === undefined;
  return access === 'read_only' || access === 'read_write';
}

function isMountPath(path: unknown): path is string {
  if (typeof path !== 'string' || path.length > LONGEST_PATH || path.includes('\0')) return false;
  const [before, root, ...segments] = path.split('/');
  return before === '' && `/${root}` === MOUNTS && segments.length > 0 && segments.every(isSegment);
}

const isSegment = (segment: string): boolean => !['', '.', '..'].includes(segment);

function isMemory(memory: unknown): boolean {
  if (memory === undefined) return true;
  if (typeof memory !== 'object' || memory === null) return false;
  const { store, session } = memory as Partial<Record<'store' | 'session', unknown>>;
  return [store, session].every(isFileName);
}

const isFileName = (id: unknown): boolean => typeof id === 'string' && /^[A-Za-z0-9_-]{1,100}$/.test(id);
