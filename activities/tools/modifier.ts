// A tool's context modifier (L38), checked before the loop hears of it: a folder inside the workspace, names in bounds.
import { realpath, stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { ToolContextState } from '../../workflows/contract/activities.ts';
import { isInside } from './builtin/files/confine.ts';
import { clip } from '../text.ts';
import type { ContextModifier } from './tool.ts';

/** What the loop carries is bounded: these are part of its state. */
const MAX_PATH = 4_096;
const MAX_TOOLS = 100;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

type Place = { readonly cwd: string; readonly dir: string };

/** Comes from a tool, so its type is only a promise. The text says why it will not do. */
export async function checkModifier(modify: ContextModifier, place: Place): Promise<ToolContextState | string> {
  const { cwd, allowedTools } = modify;
  if (allowedTools !== undefined && !isToolList(allowedTools)) {
    return `the list of allowed tools is not one of at most ${MAX_TOOLS} tool names`;
  }
  const folder = cwd === undefined ? null : await folderInside(cwd, place);
  if (typeof folder === 'string') return folder;
  return { ...(folder === null ? {} : { cwd: folder.path }), ...(allowedTools === undefined ? {} : { allowedTools }) };
}

function isToolList(list: unknown): list is readonly string[] {
  if (!Array.isArray(list) || list.length > MAX_TOOLS) return false;
  return list.every((name) => typeof name === 'string' && TOOL_NAME.test(name));
}

async function folderInside(cwd: unknown, place: Place): Promise<{ readonly path: string } | string> {
  if (typeof cwd !== 'string' || cwd === '' || cwd.length > MAX_PATH) return 'the working directory is no path';
  const real = await realFolder(resolve(place.dir, cwd));
  const named = `the working directory ${JSON.stringify(clip(cwd, 300))}`;
  if (real === null) return `${named} is not a folder`;
  return isInside(place.cwd, real) ? { path: real } : `${named} is outside the workspace`;
}

/** Whether the working directory is still what it was when it was set: a folder of the workspace, and no link. */
export async function isStillThere({ cwd, dir }: Place): Promise<boolean> {
  return dir === cwd || ((await realFolder(dir)) === dir && isInside(cwd, dir));
}

/** Null for what cannot be reached or is no folder. */
async function realFolder(path: string): Promise<string | null> {
  try {
    const real = await realpath(path);
    return (await stat(real)).isDirectory() ? real : null;
  } catch {
    return null;
  }
}
