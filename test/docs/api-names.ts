// Which declaration is behind an export, an import or a word in a type of the public API.
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { entrySources, isOwnSource, root, sourceProgram } from './source-program.ts';

export type Found = { readonly file: string; readonly name: string; readonly node: ts.Statement };

export const keyOf = ({ file, name }: Found): string => `${name} ${relative(root, file)}`;

export function parse(file: string): ts.SourceFile {
  const source = sourceProgram().getSourceFile(file);
  if (!source) throw new Error(`${relative(root, file)} is no source of an entry`);
  return source;
}

let entries: ReadonlyMap<string, ReadonlyMap<string, Found>> | undefined;

/** What each entry exports, by the name that it has there. */
export function entryExports(): ReadonlyMap<string, ReadonlyMap<string, Found>> {
  entries ??= new Map([...entrySources()].map(([entry, source]) => [entry, exportedFrom(join(root, source))]));
  return entries;
}

let keys: ReadonlySet<string> | undefined;

/** Whether some entry exports it, under its own name. */
export function isPublic(found: Found): boolean {
  keys ??= new Set(
    [...entryExports().values()].flatMap((exported) =>
      [...exported].flatMap(([name, declared]) => (name === declared.name ? [keyOf(declared)] : [])),
    ),
  );
  return keys.has(keyOf(found));
}

const inTree = (file: string, specifier: ts.Expression): string | null =>
  ts.isStringLiteral(specifier) && specifier.text.startsWith('.') ? resolve(dirname(file), specifier.text) : null;

function exportedFrom(file: string): ReadonlyMap<string, Found> {
  const found = new Map<string, Found>();
  for (const node of parse(file).statements) {
    if (ts.isExportDeclaration(node)) {
      const from = node.moduleSpecifier ? inTree(file, node.moduleSpecifier) : file;
      if (from === null) continue;
      if (!node.exportClause) for (const [name, declared] of exportedFrom(from)) found.set(name, declared);
      if (!node.exportClause || !ts.isNamedExports(node.exportClause)) continue;
      for (const { name, propertyName } of node.exportClause.elements) {
        const declared = lookUp(from, (propertyName ?? name).text);
        if (declared) found.set(name.text, declared);
      }
    } else if (isExported(node)) for (const name of namesOf(node)) found.set(name, { file, name, node });
  }
  return found;
}

export function lookUp(file: string, name: string): Found | null {
  const { statements } = parse(file);
  const node = statements.find((statement) => namesOf(statement).includes(name));
  if (node) return { file, name, node };
  for (const statement of statements) {
    const from = sourceOf(file, statement, name);
    if (from) return lookUp(from.file, from.name);
  }
  return null;
}

/** Where `name` comes from, when this statement imports it or hands it on. */
function sourceOf(file: string, node: ts.Statement, name: string): { file: string; name: string } | null {
  if (ts.isImportDeclaration(node)) {
    const from = inTree(file, node.moduleSpecifier);
    const bindings = node.importClause?.namedBindings;
    if (from === null || !bindings || !ts.isNamedImports(bindings)) return null;
    const element = bindings.elements.find((each) => each.name.text === name);
    return element ? { file: from, name: (element.propertyName ?? element.name).text } : null;
  }
  if (!ts.isExportDeclaration(node) || !node.moduleSpecifier) return null;
  const from = inTree(file, node.moduleSpecifier);
  if (from === null) return null;
  if (!node.exportClause) return lookUp(from, name) ? { file: from, name } : null;
  if (!ts.isNamedExports(node.exportClause)) return null;
  const element = node.exportClause.elements.find((each) => each.name.text === name);
  return element ? { file: from, name: (element.propertyName ?? element.name).text } : null;
}

export function namesOf(node: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations.map(({ name }) => name.getText());
  const isNamed =
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isInterfaceDeclaration(node);
  return isNamed && node.name ? [node.name.text] : [];
}

export const isExported = (node: ts.Statement): boolean =>
  ts.canHaveModifiers(node) &&
  (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false);

/** Whether a file takes this name from a package. */
export function isOfPackage(file: string, name: string): boolean {
  return parse(file).statements.some((node) => {
    if (!ts.isImportDeclaration(node) || inTree(file, node.moduleSpecifier) !== null) return false;
    const bindings = node.importClause?.namedBindings;
    return !!bindings && ts.isNamedImports(bindings) && bindings.elements.some((each) => each.name.text === name);
  });
}

let declared: ReadonlyMap<string, Found> | undefined;

/** A type that another one brought along, which the file that reads it need not import. */
export function lookUpAnywhere(name: string): Found | null {
  declared ??= new Map(
    sourceProgram()
      .getSourceFiles()
      .filter(isOwnSource)
      .flatMap(({ fileName: file, statements }) =>
        statements
          .filter(isExported)
          .flatMap((node) => namesOf(node).map((each) => [each, { file, name: each, node }] as const)),
      ),
  );
  return declared.get(name) ?? null;
}
