// Keeps file tools inside the workspace: by the real path of what exists, never by comparing prefixes. Every refusal is an
// ordinary failure the model can read (L34).
import { lstat, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ToolFailure } from '../../tool.ts';
import { absent, fsFailure, shown } from './fs-failure.ts';

export type Workspace = {
  /** An absolute real path. */
  readonly root: string;
  /** Where relative paths begin; the root when absent. */
  readonly dir?: string;
  /** Perdure's own data, out of reach unless the workspace lies in it. */
  readonly hidden?: string | undefined;
  /** Whether the call may use this real path: what its own leads to may have changed since it was judged. Absent: any. */
  readonly mayUse?: ((path: string) => boolean) | undefined;
};

export type Confined = {
  /** Without links as far as it exists. */
  readonly path: string;
  /** Relative to the workspace root; '' is the root itself. */
  readonly name: string;
  /** The deepest part of `path` that exists. */
  readonly existing: string;
  /** The segments below it. */
  readonly missing: readonly string[];
};

const MAX_PATH = 4_096;

/** Where `path` leads, links followed. Throws ToolFailure when that is not in the workspace. */
export async function confine(workspace: Workspace, path: string): Promise<Confined> {
  if (path === '' || path.includes('\0'))
    throw new ToolFailure(`${shown(path)} is no path: it is empty or holds a NUL.`);
  if (path.length > MAX_PATH) throw new ToolFailure(`${shown(path)} is longer than ${MAX_PATH} characters.`);
  const { existing, missing } = await deepestExisting(resolve(workspace.dir ?? workspace.root, path), path);
  if (!isInside(workspace.root, existing)) {
    throw new ToolFailure(`${shown(path)} is outside the workspace ${workspace.root}: use a path inside it.`);
  }
  const real = join(existing, ...missing);
  if (await isHidden(workspace, real)) throw new ToolFailure(`${shown(path)} is part of Perdure's own data.`);
  if (workspace.mayUse?.(real) === false) {
    throw new ToolFailure(`${shown(path)} leads elsewhere than when the call was judged: make the call again.`);
  }
  return { path: real, name: relative(workspace.root, real), existing, missing };
}

/** `child` is `parent` or below it. Both are absolute. */
export function isInside(parent: string, child: string): boolean {
  const way = relative(parent, child);
  return way === '' || (way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way));
}

async function isHidden({ root, hidden }: Workspace, path: string): Promise<boolean> {
  if (hidden === undefined) return false;
  const data = await realpath(hidden).catch(absent);
  return data !== null && isInside(data, path) && !isInside(data, root);
}

async function deepestExisting(from: string, asked: string): Promise<{ existing: string; missing: string[] }> {
  const missing: string[] = [];
  try {
    for (let at = from; ; at = dirname(at)) {
      const existing = await realpath(at).catch(absent);
      if (existing !== null) return { existing, missing };
      // What is there but leads nowhere is a link: writing through it would create a file wherever it points.
      if ((await lstat(at).catch(absent)) !== null) throw new ToolFailure(`${shown(asked)} is a link to nothing.`);
      missing.unshift(basename(at));
    }
  } catch (error) {
    throw fsFailure(error, asked);
  }
}
