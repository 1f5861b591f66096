// Temporal's runtime can be installed once in a process, and every test file that starts a worker wants it.
import { installRuntime } from '../../worker/install-runtime.ts';

let installed = false;

export function oneRuntime(): void {
  if (!installed) installRuntime((line) => process.stderr.write(`${line}\n`));
  installed = true;
}
