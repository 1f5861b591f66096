// Bundles the workflow once, at build time: a worker that bundles at start is a second slower. Run
// as a program it writes the bundle next to the built sources.
import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { pathOfBuiltFile } from '../system/process/places.ts';
import { VERSION } from './version.ts';

/** Returns where the build puts the bundle: dist/workflow-bundle.js. */
export function bundlePath(): string {
  return pathOfBuiltFile('workflow-bundle.js');
}

/**
 * Returns an id of this code, such as 0.1.0+3f29c04e, for a worker outside Worker Deployments.
 * Temporal stores it with four of the six events of a turn, where its SDK's own id of 90 characters
 * would be a fifth of the turn's history.
 */
export async function bundleId(): Promise<string> {
  const hash = createHash('sha256').update(await readFile(bundlePath()));
  return `${VERSION}+${hash.digest('hex').slice(0, 8)}`;
}

/**
 * Folders of modules that hold no state and know nothing of Temporal: all workflows of a worker
 * share one instance of each, which costs a session less memory and less time to replay.
 */
export const SHARED_MODULES = ['contract', 'machine'];

const pathOfWorkflows = (file: string): string => fileURLToPath(new URL(`../workflows/${file}`, import.meta.url));

const modulesIn = (folder: string): readonly string[] =>
  readdirSync(pathOfWorkflows(folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.js'))
    .map((name) => pathOfWorkflows(`${folder}/${name}`));

/**
 * Bundles the workflows. It loads Temporal's worker only here, so that a command that needs a path
 * of this file does without.
 */
async function bundleWorkflows(): Promise<string> {
  const { bundleWorkflowCode, DefaultLogger } = await import('@temporalio/worker');
  const { code } = await bundleWorkflowCode({
    workflowsPath: pathOfWorkflows('index.js'),
    workflowInterceptorModules: [pathOfWorkflows('bundled.js')],
    failureConverterPath: pathOfWorkflows('bundled.js'),
    preloadModules: SHARED_MODULES.flatMap(modulesIn),
    logger: new DefaultLogger('WARN'),
  });
  return dropSources(code);
}

const SOURCE_MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';

/**
 * Drops the sources from the source map. Stack traces need the positions of lines and not their
 * text, which would be a tenth of a package of 3 MB (Q1).
 */
function dropSources(code: string): string {
  const at = code.lastIndexOf(SOURCE_MAP);
  if (at === -1) throw new Error('the bundle of the workflow has no source map');
  const { sourcesContent: _text, ...map } = JSON.parse(
    Buffer.from(code.slice(at + SOURCE_MAP.length), 'base64').toString(),
  ) as { readonly sourcesContent?: unknown };
  return `${code.slice(0, at)}${SOURCE_MAP}${Buffer.from(JSON.stringify(map)).toString('base64')}`;
}

// It uses no top-level await, so that CommonJS programs can require() modules that import this one.
// A failure ends the process as unhandled.
if (process.argv[1] === fileURLToPath(import.meta.url))
  void bundleWorkflows().then((code) => writeFile(bundlePath(), code));
