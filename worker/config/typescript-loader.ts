// Imports a configuration in TypeScript on any Node: jiti removes the types in memory.
import { createRequire } from 'node:module';
import type { JitiOptions } from 'jiti';

/**
 * Said one by one: JITI_… variables would decide otherwise. Compiled files lie nowhere: the default
 * is a shared folder, and they are run.
 */
const OPTIONS: JitiOptions = {
  fsCache: false,
  rebuildFsCache: false,
  moduleCache: true,
  debug: false,
  sourceMaps: false,
  interopDefault: false,
  // It would run a file that throws twice.
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
 * `file`: absolute. Throws what the file throws; for one that is no TypeScript, with the place in
 * the first line.
 */
export async function importTypeScript(file: string): Promise<{ readonly default?: unknown }> {
  // Loaded here alone: most configurations need none of it.
  const { createJiti } = createRequire(import.meta.url)('jiti') as typeof import('jiti');
  try {
    return await createJiti(import.meta.url, OPTIONS).import(file);
  } catch (error) {
    throw syntaxError(error) ?? error;
  }
}

/** From jiti's message, whose second line is the place; null for what is none. */
function syntaxError(error: unknown): SyntaxError | null {
  if (!(error instanceof Error) || !error.message.startsWith(PARSE)) return null;
  const [what = '', where = ''] = error.message.slice(PARSE.length).split('\n');
  return new SyntaxError(`${what.trim()} (${where.trim()})`, { cause: error });
}

type Imported = { readonly type: string; readonly importKind?: string; readonly local: { readonly name: string } };
type Statement = {
  readonly type: string;
  readonly importKind?: string;
  readonly specifiers: readonly Imported[];
  readonly source: { readonly value: string };
};
type Program = { readonly node: { readonly body: Statement[] } };
type Babel = { readonly template: { readonly statement: { readonly ast: (code: string) => Statement } } };

/**
 * A module without the name that is imported fails, as in Node: jiti would go on without, and a
 * guard's hook be missing unseen.
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
