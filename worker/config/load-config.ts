// Finds and loads a worker's configuration. It takes only a file that a person named, or the one in
// their own configuration folder: files in a workspace never choose policy, hooks or tools.
import { existsSync } from 'node:fs';
import { extname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { checkConfig, ConfigProblem, type PerdureConfig } from './config.ts';
import { type Env, xdgFolder } from '../../connection/data-folder.ts';
import { awaitInTime } from '../../system/async.ts';
import { importApart } from '../../system/process/import-apart.mjs';
import { reasonOf } from '../../system/text.ts';
import { readNamedFile } from '../../system/read-named-file.ts';
import { foreignSkillsWriterProblem, foreignWriterProblem } from '../../connection/others-may-write.ts';
import { createRequire } from 'node:module';
import type { JitiOptions } from 'jiti';

/** `path` is absolute; null when no file was found and everything is the default. */
export type LoadedConfig = { readonly path: string | null; readonly config: PerdureConfig };

const EXTENSIONS = ['.ts', '.mjs', '.js'];

/** Milliseconds in which a file must be loaded. */
const LOAD_MS = 5_000;

/**
 * Loads `path` (of `--config`), else PERDURE_CONFIG, else `perdure/perdure.config.{ts,mjs,js}` in
 * the user's XDG configuration folder. Throws ConfigProblem with one line that names the file.
 */
export async function loadConfig(path: string | undefined, env: Env): Promise<LoadedConfig> {
  const file = findConfigFile(path, env);
  if (file === null) return { path: null, config: {} };
  const source = `the configuration ${file}`;
  checkFile(file, source);
  const module = await importFile(file, source);
  if (!('default' in module) || module.default === undefined)
    throw new ConfigProblem(`${source} has no default export: write \`export default defineConfig({ … })\``);
  const config = checkConfig(module.default, source);
  for (const folder of config.skills ?? [])
    refuseForeignWriter(`a folder of skills of ${source}`, foreignSkillsWriterProblem(folder));
  return { path: file, config };
}

function findConfigFile(path: string | undefined, env: Env): string | null {
  const named = path ?? (env['PERDURE_CONFIG'] || undefined);
  if (named !== undefined) return resolve(named);
  const base = join(xdgFolder(env, 'XDG_CONFIG_HOME', '.config'), 'perdure', 'perdure.config');
  return EXTENSIONS.map((extension) => `${base}${extension}`).find((file) => existsSync(file)) ?? null;
}

function checkFile(file: string, source: string): void {
  if (!EXTENSIONS.includes(extname(file)))
    throw new ConfigProblem(`${source} is not a .ts, .mjs or .js file: name another`);
  try {
    readNamedFile(file);
  } catch (error) {
    throw new ConfigProblem(`${source} cannot be read: ${reasonOf(error)}; correct the path or its permissions`);
  }
  refuseForeignWriter(source, foreignWriterProblem(file));
}

function refuseForeignWriter(what: string, found: string | null): void {
  if (found !== null) throw new ConfigProblem(`${what} is not used, for ${found}`);
}

type LoadedModule = { readonly default?: unknown };

/** Imports the file. An error that it throws while it is loaded is its own mistake. */
async function importFile(file: string, source: string): Promise<LoadedModule> {
  try {
    const url = pathToFileURL(file).href;
    const loading = extname(file) === '.ts' ? importTypeScript(file) : (importApart(url) as Promise<LoadedModule>);
    // A file may await something that never comes.
    const loaded = await awaitInTime(loading, null, LOAD_MS);
    if (loaded !== null) return loaded;
    throw new ConfigProblem(`${source} was not loaded within ${LOAD_MS} ms: correct what it awaits before it exports`);
  } catch (error) {
    if (error instanceof ConfigProblem) throw error;
    const hint = extname(file) === '.js' && error instanceof SyntaxError ? '; name it .mjs if it is an ES module' : '';
    throw new ConfigProblem(`${source} cannot be loaded: ${reasonOf(error)}${hint}`, { cause: error });
  }
}

/**
 * Each option is set, because JITI_… variables would decide otherwise. Compiled files are not
 * cached: the default is a shared folder, and they are run.
 */
const OPTIONS: JitiOptions = {
  fsCache: false,
  rebuildFsCache: false,
  moduleCache: true,
  debug: false,
  sourceMaps: false,
  interopDefault: false,
  // The native import would run a file that throws twice.
  tryNative: false,
  esmEvalTempFile: false,
  alias: {},
  nativeModules: [],
  transformModules: [],
  jsx: false,
  tsconfigPaths: false,
  transformOptions: { babel: { plugins: [requireImports] } },
};

const PARSE = 'ParseError: ';

/**
 * Imports a configuration in TypeScript on any Node: jiti removes the types in memory. Imports
 * `file`, an absolute path. Throws what the file throws; for one that is not TypeScript, an error
 * with the place in the first line.
 */
export async function importTypeScript(file: string): Promise<{ readonly default?: unknown }> {
  // It is loaded only here, because most configurations do not need it.
  const { createJiti } = createRequire(import.meta.url)('jiti') as typeof import('jiti');
  try {
    return await createJiti(import.meta.url, OPTIONS).import(file);
  } catch (error) {
    throw syntaxError(error) ?? error;
  }
}

/**
 * Makes a syntax error from jiti's message, whose second line is the place; null for other errors.
 */
function syntaxError(error: unknown): SyntaxError | null {
  if (!(error instanceof Error) || !error.message.startsWith(PARSE)) return null;
  const [what = '', where = ''] = error.message.slice(PARSE.length).split('\n');
  return new SyntaxError(`${what.trim()} (${where.trim()})`, { cause: error });
}

type ImportedName = { readonly type: string; readonly importKind?: string; readonly local: { readonly name: string } };
type Statement = {
  readonly type: string;
  readonly importKind?: string;
  readonly specifiers: readonly ImportedName[];
  readonly source: { readonly value: string };
};
type Program = { readonly node: { readonly body: Statement[] } };
type Babel = { readonly template: { readonly statement: { readonly ast: (code: string) => Statement } } };

/**
 * Adds checks that fail, as Node does, when a module lacks an imported name: jiti would go on
 * without, and a guard's hook would be missing unseen.
 */
function requireImports({ template }: Babel): object {
  const checks = (body: readonly Statement[]): Statement[] =>
    body
      .filter(({ type, importKind }) => type === 'ImportDeclaration' && importKind !== 'type')
      .flatMap(({ specifiers, source }) =>
        specifiers
          .filter(({ importKind }) => importKind !== 'type')
          .map(({ local: { name } }) => {
            const why = JSON.stringify(`${source.value} has no export for ${name}`);
            return template.statement.ast(`if (${name} === undefined) throw new SyntaxError(${why});`);
          }),
      );
  const Program = ({ node: { body } }: Program): void => {
    body.splice(body.findLastIndex(({ type }) => type === 'ImportDeclaration') + 1, 0, ...checks(body));
  };
  return { visitor: { Program } };
}
