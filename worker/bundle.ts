// Bundles the workflow once, at build time: a worker that bundles at start is a second slower.
// Run as a program it writes the bundle beside the built sources.
import { writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';

/** Where the build puts it: dist/workflow-bundle.js, found from sources and from built files alike. */
export function bundlePath(): string {
  const here = fileURLToPath(import.meta.url);
  const root = here.endsWith('.ts') ? new URL('../dist/', import.meta.url) : new URL('../', import.meta.url);
  return fileURLToPath(new URL('workflow-bundle.js', root));
}

export async function bundleWorkflows(): Promise<string> {
  const workflowsPath = fileURLToPath(new URL('../workflows/index.js', import.meta.url));
  const { code } = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('WARN') });
  return code;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeFile(bundlePath(), await bundleWorkflows());
