// Temporal's runtime can be installed once in a process, and every test file that starts a worker
// wants it.
import { installRuntime } from '../../worker/install-runtime.ts';
import { workerLog } from '../../worker/log.ts';

let installed = false;

export function oneRuntime(): void {
  if (!installed) installRuntime(workerLog(process.stderr, process.env));
  installed = true;
}
