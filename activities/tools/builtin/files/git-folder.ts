// Git runs programs that files in a .git folder name, so changing one there is as good as running a command.

/** Whether a path names a .git folder, or something in one. Without regard to case: some file systems have none. */
export function namesGitFolder(path: string): boolean {
  return path.split(/[/\\]/).some((segment) => segment.toLowerCase() === '.git');
}

/** A sentence when a path leads into a .git folder without saying so: it was judged by its name (L55). */
export function hiddenGitProblem(asked: string, real: string): string | undefined {
  if (!namesGitFolder(real) || namesGitFolder(asked)) return undefined;
  return 'The path leads into a .git folder through a link: name the folder itself.';
}
