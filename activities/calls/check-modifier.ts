// Checks a tool's context modifier (L38) before the loop gets it: a folder inside the workspace,
// and bounded names.
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ContextModifier } from '../../tools/tool.ts';
import { clip } from '../../system/text.ts';
import type { ToolContextState } from '../../workflows/contract/activities.ts';
import { isInside } from '../../system/process/places.ts';
import { present } from '../../workflows/contract/present.ts';

/** The loop's state is bounded, and these are part of it. */
const MAX_PATH = 4_096;
const MAX_TOOLS = 100;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

type WorkingFolder = { readonly cwd: string; readonly dir: string };

/**
 * Checks what a tool returned, so its type is only a promise. A returned text says why it is
 * refused.
 */
export async function checkModifier(modify: ContextModifier, place: WorkingFolder): Promise<ToolContextState | string> {
  const { cwd, allowedTools } = modify;
  if (allowedTools !== undefined && !isToolList(allowedTools)) {
    return `the list of allowed tools is not one of at most ${MAX_TOOLS} tool names`;
  }
  const folder = cwd === undefined ? null : await findFolderInside(cwd, place);
  if (typeof folder === 'string') return folder;
  return { ...(folder === null ? {} : { cwd: folder.path }), ...present({ allowedTools }) };
}

function isToolList(list: unknown): list is readonly string[] {
  if (!Array.isArray(list) || list.length > MAX_TOOLS) return false;
  return list.every((name) => typeof name === 'string' && TOOL_NAME.test(name));
}

async function findFolderInside(cwd: unknown, place: WorkingFolder): Promise<{ readonly path: string } | string> {
  if (typeof cwd !== 'string' || cwd === '' || cwd.length > MAX_PATH) return 'the working directory is no path';
  const real = await resolveFolder(resolve(place.dir, cwd));
  const named = `the working directory ${JSON.stringify(clip(cwd, 300))}`;
  if (real === null) return `${named} is not a folder`;
  return isInside(place.cwd, real) ? { path: real } : `${named} is outside the workspace`;
}

/** Tells whether the working directory is still a real folder of the workspace, and no link. */
export async function isFolderUnchanged({ cwd, dir }: WorkingFolder): Promise<boolean> {
  return dir === cwd || ((await resolveFolder(dir)) === dir && isInside(cwd, dir));
}

/** Returns null for a path that cannot be reached or does not lead to a folder. */
async function resolveFolder(path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : null;
  } catch {
    return null;
  }
}
