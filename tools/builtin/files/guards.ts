// Guards tools that change files around places whose content runs outside the sandbox later
// (process/places.ts).
import { resolve } from 'node:path';
import type { PermissionMode } from '../../../workflows/contract/session.ts';
import { guardOf, type Places } from '../../../system/process/places.ts';
import type { PermissionDecision } from '../../tool.ts';

type WorkingPlace = { readonly cwd: string; readonly dir: string };

const RUNS = 'what it says runs outside the sandbox later';

/** Decides by the name that was written: where it leads is looked at when it is opened. */
export function decideByGuard(
  places: Places,
  path: string,
  { cwd, dir, mode }: WorkingPlace & { readonly mode: PermissionMode },
): PermissionDecision | undefined {
  const guard = guardOf(places, cwd, resolve(dir, path));
  if (guard === undefined) return undefined;
  if (guard === 'own') return { kind: 'deny', why: 'it is a file that Perdure itself runs from' };
  // This mode asks no one.
  if (mode === 'bypass') return { kind: 'deny', why: `${RUNS}, and in permission mode "bypass" nobody is asked` };
  return { kind: 'ask', why: RUNS };
}

/**
 * Returns a sentence when a path leads to such a place without saying so: the question did not name
 * it.
 */
export function checkHiddenGuard(
  places: Places,
  requested: string,
  real: string,
  { cwd, dir }: WorkingPlace,
): string | undefined {
  const guard = guardOf(places, cwd, real);
  if (guard === undefined || guard === guardOf(places, cwd, resolve(dir, requested))) return undefined;
  return `The path leads through a link to a file of which ${RUNS}: name the file itself.`;
}

/**
 * Recognises paths into .git folders. Git runs programs that files there name, so changing one is
 * as good as running a command. Tells whether a path names a .git folder, or something in one,
 * without regard to case: some file systems ignore case.
 */
export function namesGitFolder(path: string): boolean {
  return path.split(/[/\\]/).some((segment) => segment.toLowerCase() === '.git');
}

/**
 * Returns a sentence when a path leads into a .git folder without saying so: it was judged by its
 * name (L55).
 */
export function checkHiddenGit(requested: string, real: string): string | undefined {
  if (!namesGitFolder(real) || namesGitFolder(requested)) return undefined;
  return 'The path leads into a .git folder through a link: name the folder itself.';
}
