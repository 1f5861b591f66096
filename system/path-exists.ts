// Tells whether a path exists, for callers that do not care what it is.
import { access } from 'node:fs/promises';

/** Follows links. A path that may not be reached does not exist here. */
export async function pathExists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
