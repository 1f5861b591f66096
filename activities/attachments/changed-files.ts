// Which of the files that the agent knows are no longer what it knows (L43). What a shell command changed is told as well: the
// agent's own commands are not tracked, only its file tools are.
import { isInside } from '../tools/builtin/files/confine.ts';
import { factsOf } from '../tools/builtin/files/file-facts.ts';
import type { SeenFile } from '../../workflows/contract/activities.ts';
import type { SeenFiles } from './seen-files.ts';

/** As they are now, at most `most`; the others are for the next time. Never throws. */
export async function changedFiles(seen: SeenFiles, cwd: string, most: number): Promise<readonly SeenFile[]> {
  const known = [...seen.values()].filter(({ path }) => isInside(cwd, path));
  const now = await Promise.all(known.map(async (file) => ({ file, now: await factsOf(file.path) })));
  return now.flatMap(({ file, now: facts }) => (facts === null || isSame(file, facts) ? [] : [facts])).slice(0, most);
}

function isSame(a: SeenFile, b: SeenFile): boolean {
  return a.mtimeMs === b.mtimeMs && a.size === b.size && a.gone === b.gone;
}
