// The care of tools that change files for places whose content runs outside the sandbox later
// (process/places.ts).
import { resolve } from 'node:path';
import type { PermissionMode } from '../../../workflows/contract/session.ts';
import { guardOf, type Places } from '../../../system/process/places.ts';
import type { PermissionDecision } from '../../tool.ts';

type Place = { readonly cwd: string; readonly dir: string };

const RUNS = 'what it says runs outside the sandbox later';

/** By the name that was written: where it leads is looked at when it is opened. */
export function guardDecision(
  places: Places,
  path: string,
  { cwd, dir, mode }: Place & { readonly mode: PermissionMode },
): PermissionDecision | undefined {
  const guard = guardOf(places, cwd, resolve(dir, path));
  if (guard === undefined) return undefined;
  if (guard === 'own') return { kind: 'deny', why: 'it is a file that Perdure itself runs from' };
  // Here nobody is asked.
  if (mode === 'bypass') return { kind: 'deny', why: `${RUNS}, and in permission mode "bypass" nobody is asked` };
  return { kind: 'ask', why: RUNS };
}

/** A sentence when a path leads to such a place without saying so: nobody was asked about that. */
export function hiddenGuardProblem(
  places: Places,
  asked: string,
  real: string,
  { cwd, dir }: Place,
): string | undefined {
  const guard = guardOf(places, cwd, real);
  if (guard === undefined || guard === guardOf(places, cwd, resolve(dir, asked))) return undefined;
  return `The path leads through a link to a file of which ${RUNS}: name the file itself.`;
}

// Git runs programs that files in a .git folder name, so changing one there is as good as running a
// command.

/**
 * Whether a path names a .git folder, or something in one. Without regard to case: some file
 * systems have none.
 */
export function namesGitFolder(path: string): boolean {
  return path.split(/[/\\]/).some((segment) => segment.toLowerCase() === '.git');
}

/**
 * A sentence when a path leads into a .git folder without saying so: it was judged by its name
 * (L55).
 */
export function hiddenGitProblem(asked: string, real: string): string | undefined {
  if (!namesGitFolder(real) || namesGitFolder(asked)) return undefined;
  return 'The path leads into a .git folder through a link: name the folder itself.';
}
