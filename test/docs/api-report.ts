// The public API read from the sources: what each entry of the package exports, with its docstring,
// and every type of ours that an exported one names. It is read from the syntax, so that it takes
// no build and an exported function has to write down its result; only types that are inferred from
// a value are asked of the compiler.
import { readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { entrySources, root, sourceProgram } from './source-program.ts';

export type Item = { readonly name: string; readonly doc: string; readonly code: string };

/** `entry`: as it is imported. `about`: the opening comment of its source. */
export type Entry = { readonly entry: string; readonly about: string; readonly items: readonly Item[] };

export type Api = {
  readonly entries: readonly Entry[];
  /** Types that the exported ones name, and no entry exports. */
  readonly others: readonly Item[];
};

type Found = { readonly file: string; readonly name: string; readonly node: ts.Statement };

export function readApi(): Api {
  const names = [...entrySources()].map(
    ([entry, source]) => [entry, source, exportedFrom(join(root, source))] as const,
  );
  const exported = new Set(names.flatMap(([, , found]) => [...found.values()].map(keyOf)));
  const entries = names.map(([entry, source, found]) => ({
    entry,
    about: openingComment(join(root, source)),
    items: [...found]
      .toSorted(([a], [b]) => a.localeCompare(b, 'en'))
      .map(([name, declared]) => ({ name, ...described(declared, name) })),
  }));
  const others = new Map<string, Found>();
  const waiting = names.flatMap(([, , found]) => [...found.values()]);
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    for (const named of namedIn(next)) {
      if (exported.has(keyOf(named)) || others.has(keyOf(named))) continue;
      others.set(keyOf(named), named);
      waiting.push(named);
    }
  }
  const sorted = [...others.values()].toSorted((a, b) => keyOf(a).localeCompare(keyOf(b), 'en'));
  return { entries, others: sorted.map((found) => ({ name: found.name, ...described(found, found.name) })) };
}

const keyOf = ({ file, name }: Found): string => `${name} ${relative(root, file)}`;

const parsed = new Map<string, ts.SourceFile>();

function parse(file: string): ts.SourceFile {
  const known = parsed.get(file);
  if (known) return known;
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  parsed.set(file, source);
  return source;
}

function openingComment(file: string): string {
  const lines = parse(file).text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join(' ');
}

// Names: which declaration is behind an export, an import or a word in a type.

const inTree = (file: string, specifier: ts.Expression): string | null =>
  ts.isStringLiteral(specifier) && specifier.text.startsWith('.') ? resolve(dirname(file), specifier.text) : null;

function exportedFrom(file: string): ReadonlyMap<string, Found> {
  const found = new Map<string, Found>();
  for (const node of parse(file).statements) {
    if (ts.isExportDeclaration(node)) {
      const from = node.moduleSpecifier ? inTree(file, node.moduleSpecifier) : file;
      if (from === null || !node.exportClause || !ts.isNamedExports(node.exportClause)) continue;
      for (const { name, propertyName } of node.exportClause.elements) {
        const declared = lookUp(from, (propertyName ?? name).text);
        if (declared) found.set(name.text, declared);
      }
    } else if (isExported(node)) for (const name of namesOf(node)) found.set(name, { file, name, node });
  }
  return found;
}

function lookUp(file: string, name: string): Found | null {
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

function namesOf(node: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations.map(({ name }) => name.getText());
  const isNamed =
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isInterfaceDeclaration(node);
  return isNamed && node.name ? [node.name.text] : [];
}

const isExported = (node: ts.Statement): boolean =>
  ts.canHaveModifiers(node) &&
  (ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ?? false);

/** Declarations of ours that its signature names. */
function namedIn({ file, node }: Found): Found[] {
  if (ts.isTypeAliasDeclaration(node) && readsValue(file, node.type)) {
    const inferred = ts.createSourceFile('inferred.ts', inferredCode(file, node), ts.ScriptTarget.Latest, true);
    const names = [...namesIn(inferred)].flatMap((name) => lookUp(file, name) ?? lookUpAnywhere(name) ?? []);
    return names.filter(({ node: named }) => !ts.isVariableStatement(named));
  }
  const found: Found[] = [];
  const visit = (child: ts.Node): void => {
    if (ts.isBlock(child) || (ts.isClassElement(child) && isPrivate(child))) return;
    if (ts.isTypeReferenceNode(child)) add(child.typeName.getText().split('.')[0] ?? '');
    else if (ts.isTypeQueryNode(child)) add(child.exprName.getText().split('.')[0] ?? '');
    else if (ts.isExpressionWithTypeArguments(child)) add(child.expression.getText());
    ts.forEachChild(child, visit);
  };
  const add = (name: string): void => {
    const declared = lookUp(file, name);
    if (declared) found.push(declared);
  };
  visit(node);
  return found;
}

function namesIn(node: ts.Node, names = new Set<string>()): ReadonlySet<string> {
  if (ts.isTypeReferenceNode(node)) names.add(node.typeName.getText());
  ts.forEachChild(node, (child) => void namesIn(child, names));
  return names;
}

/** A type that a value brought along, which the file of the inferred one need not import. */
function lookUpAnywhere(name: string): Found | null {
  for (const { fileName, statements } of sourceProgram().getSourceFiles()) {
    const node = statements.find((each) => isExported(each) && namesOf(each).includes(name));
    if (node && fileName.startsWith(root) && !fileName.includes('node_modules')) return lookUp(fileName, name);
  }
  return null;
}

// Texts.

function described({ file, node, name }: Found, as: string): Omit<Item, 'name'> {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter((each) => ts.isJSDoc(each));
  return { doc: doc ? plainDoc(doc.getText()) : '', code: codeOf(node, name, as, file) };
}

const plainDoc = (text: string): string =>
  text
    .replaceAll(/^\/\*\*|\*\/$/g, '')
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trim())
    .join(' ')
    .trim();

const isPrivate = (member: ts.ClassElement): boolean =>
  (member.name !== undefined && ts.isPrivateIdentifier(member.name)) ||
  (ts.canHaveModifiers(member) &&
    (ts.getModifiers(member)?.some(({ kind }) => kind === ts.SyntaxKind.PrivateKeyword) ?? false));

function codeOf(node: ts.Statement, name: string, as: string, file: string): string {
  if (ts.isFunctionDeclaration(node)) return `function ${as}${signature(node, file)};`;
  if (ts.isClassDeclaration(node)) {
    const heritage = node.heritageClauses?.map((clause) => ` ${clause.getText()}`).join('') ?? '';
    const members = node.members
      .filter((member) => !isPrivate(member))
      .map((member) => `  ${memberCode(member, file)}`);
    return [`class ${as}${heritage} {`, ...members, '}'].join('\n');
  }
  if (ts.isVariableStatement(node)) {
    const declared = node.declarationList.declarations.find((each) => each.name.getText() === name);
    const { type, initializer } = declared ?? {};
    if (type) return `const ${as}: ${type.getText()};`;
    if (initializer && ts.isArrowFunction(initializer)) return `function ${as}${signature(initializer, file)};`;
    return `const ${as};`;
  }
  if (ts.isTypeAliasDeclaration(node) && readsValue(file, node.type)) return inferredCode(file, node);
  return node.getText().replace(/^export /, '');
}

// Types that follow from a value, such as a table of options: they are told as the compiler sees
// them.

/**
 * Whether a type names a value of ours, itself or by another type that its file keeps to itself.
 */
function readsValue(file: string, node: ts.Node, above: readonly string[] = []): boolean {
  if (ts.isTypeQueryNode(node)) return lookUp(file, node.exprName.getText()) !== null;
  const name = ts.isTypeReferenceNode(node) ? node.typeName.getText() : '';
  const named = above.includes(name) ? undefined : findAlias(file, name);
  if (named && !isExported(named) && readsValue(file, named.type, [...above, name])) return true;
  return ts.forEachChild(node, (child) => readsValue(file, child, above) || undefined) ?? false;
}

const findAlias = (file: string, name: string): ts.TypeAliasDeclaration | undefined =>
  parse(file)
    .statements.filter(ts.isTypeAliasDeclaration)
    .find((alias) => alias.name.text === name);

function inferredCode(file: string, { name }: ts.TypeAliasDeclaration): string {
  const program = sourceProgram();
  const checker = program.getTypeChecker();
  const alias = program
    .getSourceFile(file)
    ?.statements.filter(ts.isTypeAliasDeclaration)
    .find((each) => each.name.text === name.text);
  if (!alias) throw new Error(`${relative(root, file)} has no type ${name.text}`);
  const generic = alias.typeParameters?.map((each) => each.getText()).join(', ');
  const type = checker.getTypeFromTypeNode(alias.type);
  const members = type.isUnion() && type.types.some(isObject) ? type.types : null;
  const code = members
    ? members
        .toSorted((one, other) => placeOfType(checker, one) - placeOfType(checker, other))
        .map((each) => `\n  | ${objectCode(checker, each, '      ')}`)
        .join('')
    : ` ${isObject(type) ? objectCode(checker, type, '  ') : typeCode(checker, type)}`;
  return `type ${name.text}${generic === undefined ? '' : `<${generic}>`} =${code};`;
}

const isObject = (type: ts.Type): boolean => (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0;

const placeOf = (property: ts.Symbol): number => property.declarations?.[0]?.getStart() ?? 0;
const placeOfType = (checker: ts.TypeChecker, type: ts.Type): number =>
  Math.max(...checker.getPropertiesOfType(type).map(placeOf));

function objectCode(checker: ts.TypeChecker, type: ts.Type, indent: string): string {
  const lines = checker
    .getPropertiesOfType(type)
    .toSorted(
      (one, other) => Number(other.name === 'type') - Number(one.name === 'type') || placeOf(one) - placeOf(other),
    )
    .map((property) => {
      const isOptional = (property.flags & ts.SymbolFlags.Optional) !== 0;
      const inferred = typeCode(checker, checker.getTypeOfSymbol(property));
      const shown = writtenType(property) ?? inferred.replace(isOptional ? / \| undefined$/ : /^$/, '');
      return `${docCode(property, checker, indent)}${indent}readonly ${property.name}${isOptional ? '?' : ''}: ${shown};`;
    });
  return `{\n${lines.join('\n')}\n${indent.slice(2)}}`;
}

function docCode(property: ts.Symbol, checker: ts.TypeChecker, indent: string): string {
  const lines = ts.displayPartsToString(property.getDocumentationComment(checker)).split('\n');
  if (lines.length > 1)
    return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`), `${indent} */\n`].join('\n');
  return lines[0] === '' ? '' : `${indent}/** ${lines[0] ?? ''} */\n`;
}

/** The type that a row of a table is declared with, as in `option<Tags>(…)`. */
function writtenType({ declarations: [row] = [] }: ts.Symbol): string | undefined {
  const call =
    row && ts.isPropertyAssignment(row) && ts.isCallExpression(row.initializer) ? row.initializer : undefined;
  return call?.typeArguments?.[0]?.getText();
}

const typeCode = (checker: ts.TypeChecker, type: ts.Type): string =>
  checker
    .typeToString(
      type,
      undefined,
      ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope,
    )
    .replaceAll(/"([^"']*)"/g, "'$1'");

function memberCode(member: ts.ClassElement, file: string): string {
  if (ts.isConstructorDeclaration(member)) return `constructor(${parameters(member)});`;
  if (ts.isMethodDeclaration(member)) return `${member.name.getText()}${signature(member, file)};`;
  return member.getText();
}

function signature(node: ts.SignatureDeclaration, file: string): string {
  if (!node.type)
    throw new Error(
      `${relative(root, file)}: ${node.name?.getText() ?? 'a function'} is public: write its result down`,
    );
  const generic = node.typeParameters ? `<${node.typeParameters.map((each) => each.getText()).join(', ')}>` : '';
  return `${generic}(${parameters(node)}): ${node.type.getText()}`;
}

/** Without defaults, and without the names in a pattern. */
function parameters(node: ts.SignatureDeclaration): string {
  return node.parameters
    .map(({ name, type, questionToken, initializer, dotDotDotToken }) => {
      const named = ts.isIdentifier(name) ? name.text : '{ … }';
      const optional = questionToken || initializer ? '?' : '';
      return `${dotDotDotToken ? '...' : ''}${named}${optional}${type ? `: ${type.getText()}` : ''}`;
    })
    .join(', ');
}
