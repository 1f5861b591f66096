// Loads what stays out of bundles: the worker, with its native code and compilers, and the programs
// that bring up a server. Their addresses are hidden from bundlers; where a bundler has taken this
// file along, they lead nowhere.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { importApart } from '../../system/process/import-apart.mjs';
import { reasonOf } from '../../system/text.ts';
import { SetupProblem } from '../../system/setup-problem.ts';

type Apart = {
  readonly 'embedded/find-binary': typeof import('../../worker/embedded/find-binary.ts');
  readonly 'install-runtime': typeof import('../../worker/install-runtime.ts');
  readonly 'start-worker': typeof import('../../worker/start-worker.ts');
};

/** Webpack and Next.js define it in their output. */
declare const __webpack_require__: unknown;

/**
 * Error of Turbopack, which leaves no other trace: files of its bundle still report their original
 * place.
 */
const TURBOPACK = /expression is too dynamic/;

/** CommonJS made by a bundler has no URL. */
const here = import.meta.url as string | undefined;
const place = /\/client\/runtime\/bundled\.([jt]s)$/.exec(here ?? '');

/**
 * Loads a module below worker/ that bundles leave out. In a bundled program it throws SetupProblem,
 * which says that the program cannot have `what`.
 */
export async function loadApart<Name extends keyof Apart>(name: Name, what: string): Promise<Apart[Name]> {
  const isWebpack = typeof __webpack_require__ !== 'undefined';
  const url = place === null || isWebpack ? null : new URL(`../../worker/${name}.${place[1]}`, here);
  if (url === null || !existsSync(fileURLToPath(url))) throw bundleProblem(what);
  try {
    return (await importApart(url.href)) as Apart[Name];
  } catch (error) {
    if (TURBOPACK.test(reasonOf(error))) throw bundleProblem(what);
    throw error;
  }
}

function bundleProblem(what: string): SetupProblem {
  const apart = `leave perdure out of the bundle (esbuild --external:perdure, webpack's externals, Next.js's serverExternalPackages: ['perdure'])`;
  const elsewhere = 'name a Temporal server in TEMPORAL_ADDRESS, with `perdure worker` beside it';
  return new SetupProblem(`perdure is bundled into this program, which cannot have ${what}: ${apart}, or ${elsewhere}`);
}
