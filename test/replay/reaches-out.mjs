// What a workflow may not do, for the bundler to refuse.
import { readFileSync } from 'node:fs';

export async function reachesOut() {
  return readFileSync('/etc/hostname', 'utf8');
}
