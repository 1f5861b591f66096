// Imports a configuration in TypeScript on any Node: jiti removes the types in memory.
import { createRequire } from 'node:module';
import type { JitiOptions } from 'jiti';

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
 * Imports `file`, an absolute path. Throws what the file throws; for one that is not TypeScript, an
 * error with the place in the first line.
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
