// Tells an agent in a work tree of its own what lies in the workspace and not there: git brings what
// it tracks, and neither installed packages, nor settings, nor the files of submodules.
import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';

const MOST_NAMED = 20;
/** Folders that are looked into for empty ones. */
const MOST_FOLDERS = 200;
/** Other names could be words for the model. */
const PLAIN_NAME = /^[\w.@+-]{1,60}$/;

/** Both are absolute. Returns one sentence or more, or '' where nothing is missing. */
export function describeMissingInTree(workspace: string, tree: string): string {
  const there = list(tree);
  const names = new Set(there.map(({ name }) => name));
  const missing = list(workspace)
    .filter(({ name }) => name !== '.git' && !names.has(name))
    .map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name));
  const folders = there.filter((entry) => entry.isDirectory() && entry.name !== '.git').slice(0, MOST_FOLDERS);
  const below = folders.flatMap(({ name }) =>
    list(join(tree, name))
      .filter((one) => one.isDirectory())
      .map((one) => `${name}/${one.name}`),
  );
  const empty = [...folders.map(({ name }) => name), ...below.slice(0, MOST_FOLDERS)].filter(
    (path) => list(join(tree, path)).length === 0 && list(join(workspace, path)).length > 0,
  );
  return [
    sentence(missing, 'It lacks what git does not track: of the workspace these are not there'),
    sentence(empty, 'These folders are submodules or the like, and empty'),
    missing.length + empty.length === 0 ? '' : 'Install or make what you need.',
  ]
    .filter((part) => part !== '')
    .join(' ');
}

function sentence(paths: readonly string[], beginning: string): string {
  const named = paths.filter((path) => path.split('/').every((name) => name === '' || PLAIN_NAME.test(name)));
  const shown = named.slice(0, MOST_NAMED);
  if (paths.length === 0) return '';
  const more = paths.length - shown.length;
  return `${beginning}: ${[...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ')}.`;
}

/** Returns an empty list for what is no folder, or cannot be listed. */
function list(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return [];
  }
}
