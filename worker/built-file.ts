// What only the build makes, and a process that runs from sources needs as well: Temporal takes some of our files by their path.
import { fileURLToPath } from 'node:url';

/** In dist/, found from sources and from built files alike. */
export function builtFile(path: string): string {
  const root = import.meta.url.endsWith('.ts') ? '../dist/' : '../';
  return fileURLToPath(new URL(`${root}${path}`, import.meta.url));
}
