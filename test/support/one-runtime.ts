// Temporal's runtime can be installed once in a process, and every test file that starts a worker
// wants it.
import { installRuntime } from '../../worker/install-runtime.ts';
import { createWorkerLog } from '../../worker/log.ts';

let installed = false;

export function oneRuntime(): void {
  if (!installed) installRuntime(createWorkerLog(process.stderr, process.env));
  installed = true;
}
