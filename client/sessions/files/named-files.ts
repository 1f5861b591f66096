// Tells which files the calls of a session name: a file that none names may be a person's, or have
// been written by a program that a call started (T7).
import { basename, dirname, resolve } from 'node:path';
import type { Entry } from '../../../store/log/entries.ts';

/** What surrounds names in a command. */
const BETWEEN = /[\s'"`=:;,|&<>(){}[\]]+/;

/**
 * Returns whether a call names a file, or a folder above it, by its path, or a command does by the
 * name alone. `cwd` is the folder of the session; `path` is relative to `root`.
 */
export function createFileNaming(
  entries: readonly Entry[],
  cwd: string,
): (file: { readonly root: string; readonly path: string }) => boolean {
  const places = new Set<string>();
  const names = new Set<string>();
  for (const { path, file_path: filePath, command } of entries.flatMap(inputsOf)) {
    for (const named of [path, filePath]) if (typeof named === 'string') places.add(resolve(cwd, named));
    if (typeof command !== 'string') continue;
    const words = command.split(BETWEEN).filter(Boolean);
    for (const [at, word] of words.entries()) {
      // Working in a folder names nothing in it.
      if (words[at - 1] === 'cd') continue;
      places.add(resolve(cwd, word));
      names.add(basename(word));
    }
  }
  return ({ root, path }) => {
    const file = resolve(root, path);
    if (names.has(basename(file))) return true;
    for (let place = file; place !== root && place !== '/'; place = dirname(place)) if (places.has(place)) return true;
    return false;
  };
}

type NamingInput = { readonly path?: unknown; readonly file_path?: unknown; readonly command?: unknown };

function inputsOf(entry: Entry): readonly NamingInput[] {
  if (entry.kind !== 'reply') return [];
  return entry.message.content.flatMap((block) =>
    block.type === 'tool_use' && typeof block.input === 'object' && block.input !== null ? [block.input] : [],
  );
}
