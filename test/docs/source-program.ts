// One program of the compiler over the sources of every entry and of the workflows. Packages are
// not read, apart from the one that types are inferred with: that takes seconds, and types of
// theirs are told by name.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import ts from 'typescript';

export const root = resolve(import.meta.dirname, '../..');

/** From `perdure`, `perdure/worker`, … to the source of each, as package.json has them. */
export function entrySources(): ReadonlyMap<string, string> {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, string | { readonly types: string }>>;
  };
  return new Map(
    Object.entries(exports).flatMap(([path, target]) =>
      typeof target === 'string'
        ? []
        : [[path.replace(/^\./, 'perdure'), target.types.replace(/^\.\/dist\/(.*)\.d\.ts$/, '$1.ts')]],
    ),
  );
}

let program: ts.Program | undefined;

/** The program is made once for all tests of a process. */
export function sourceProgram(): ts.Program {
  if (program) return program;
  program = createSourceProgram();
  // The checker binds the sources: from then on a node knows its parent and its text.
  program.getTypeChecker();
  return program;
}

function createSourceProgram(): ts.Program {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), (path) => ts.sys.readFile(path)) as {
    readonly config: object;
  };
  const { options } = ts.parseJsonConfigFileContent(config, { ...ts.sys, readDirectory: () => [] }, root);
  const host = ts.createCompilerHost(options);
  host.resolveModuleNameLiterals = (literals, from, _, given) =>
    literals.map(({ text }) =>
      text.startsWith('.') || text === 'zod'
        ? ts.resolveModuleName(text, from, given, host)
        : { resolvedModule: undefined },
    );
  const sources = [...entrySources().values(), 'workflows/index.ts', 'workflows/bundled.ts'];
  return ts.createProgram(
    sources.map((source) => join(root, source)),
    { ...options, types: [] },
    host,
  );
}

/** Whether a file is a source of ours. */
export const isOwnSource = ({ fileName }: ts.SourceFile): boolean =>
  fileName.startsWith(root) && !fileName.includes('/node_modules/');
