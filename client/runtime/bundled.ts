// What stays out of bundles: the worker, with its native code and compilers, and the programs that
// bring up a server. It is reached by addresses that bundlers do not follow; where a bundler has
// taken this file along, they lead nowhere.
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

/** What webpack and Next.js leave in what they make. */
declare const __webpack_require__: unknown;

/** It leaves no other trace: files of a bundle believe that they are where they were. */
const TURBOPACK = /expression is too dynamic/;

/** CommonJS that a bundler made has none. */
const here = import.meta.url as string | undefined;
const [place, ending = 'js'] = /\/client\/runtime\/bundled\.([jt]s)$/.exec(here ?? '') ?? [];

/**
 * A module below worker/ that no bundle takes along. Throws SetupProblem where a program is
 * bundled: `what` it cannot have.
 */
export async function loadApart<Name extends keyof Apart>(name: Name, what: string): Promise<Apart[Name]> {
  const isWebpack = typeof __webpack_require__ !== 'undefined';
  const url = place === undefined || isWebpack ? null : new URL(`../../worker/${name}.${ending}`, here);
  if (url === null || !existsSync(fileURLToPath(url))) throw bundled(what);
  try {
    return (await importApart(url.href)) as Apart[Name];
  } catch (error) {
    if (TURBOPACK.test(reasonOf(error))) throw bundled(what);
    throw error;
  }
}

function bundled(what: string): SetupProblem {
  const apart = `leave perdure out of the bundle (esbuild --external:perdure, webpack's externals, Next.js's serverExternalPackages: ['perdure'])`;
  const elsewhere = 'name a Temporal server in TEMPORAL_ADDRESS, with `perdure worker` beside it';
  return new SetupProblem(`perdure is bundled into this program, which cannot have ${what}: ${apart}, or ${elsewhere}`);
}
