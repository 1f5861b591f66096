// Recognises paths into .git folders. Git runs programs that files there name, so changing one is
// as good as running a command.

/**
 * Tells whether a path names a .git folder, or something in one, without regard to case: some file
 * systems ignore case.
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
