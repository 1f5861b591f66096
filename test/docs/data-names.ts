// The names that are data: they lie in histories, memos and stores, or travel between processes of
// different versions. They are read from the sources as the compiler sees them, so that a new one
// is found wherever it is written.
import { relative } from 'node:path';
import ts from 'typescript';
import { ATTRIBUTES } from '../../workflows/contract/visibility.ts';
import { isOwnSource, root, sourceProgram } from './source-program.ts';

export type Names = Readonly<Record<string, readonly string[]>>;

const program = sourceProgram();
const checker = program.getTypeChecker();
const sources = program.getSourceFiles().filter(isOwnSource);

const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].toSorted();

function sourceOf(path: string): ts.SourceFile {
  const source = sources.find(({ fileName }) => relative(root, fileName) === path);
  if (!source) throw new Error(`${path} is no source of the product`);
  return source;
}

export function exportsOf(path: string): readonly ts.Symbol[] {
  const module = checker.getSymbolAtLocation(sourceOf(path));
  return module ? checker.getExportsOfModule(module) : [];
}

/** The one type of this name, wherever it is declared, exported or not. */
export function typeNamed(name: string): ts.Type {
  const found = sources.flatMap(({ statements }) =>
    statements.filter(ts.isTypeAliasDeclaration).filter((alias) => alias.name.text === name),
  );
  const [alias] = found;
  if (!alias || found.length > 1)
    throw new Error(`${found.length} types are called ${name}: name the one that is data`);
  return checker.getTypeAtLocation(alias.name);
}

/** Every call of ours to a function of this name, with or without an object before it. */
function callsOf(name: string): readonly ts.CallExpression[] {
  const found: ts.CallExpression[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && node.expression.getText().replace(/^.*\./s, '') === name) found.push(node);
    ts.forEachChild(node, visit);
  };
  for (const source of sources.filter(({ text }) => text.includes(name))) visit(source);
  return found;
}

/**
 * The texts that an expression can have; none for one that was read from elsewhere. Throws when
 * only its being a text is known.
 */
function textsOf(node: ts.Expression): readonly string[] {
  const type = checker.getTypeAtLocation(node);
  return (type.isUnion() ? type.types : [type]).flatMap((each) => {
    if (each.isStringLiteral()) return [each.value];
    if ((each.flags & ts.TypeFlags.String) === 0) return [];
    const { line } = node.getSourceFile().getLineAndCharacterOfPosition(node.getStart());
    throw new Error(`${relative(root, node.getSourceFile().fileName)}:${line + 1}: name it by a constant`);
  });
}

/** The names that calls of this function have as their argument. */
const namedBy = (callee: string, at = 0): readonly string[] =>
  sorted(callsOf(callee).flatMap(({ arguments: given }) => (given[at] ? textsOf(given[at]) : [])));

const keysOf = (node: ts.Expression): readonly string[] =>
  checker.getPropertiesOfType(checker.getTypeAtLocation(node)).map(({ name }) => name);

/** The keys of what is written as `key: { … }` in an object. */
function keysUnder(key: string): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAssignment(node) && node.name.getText() === key && ts.isObjectLiteralExpression(node.initializer))
      found.push(...keysOf(node.initializer));
    ts.forEachChild(node, visit);
  };
  for (const source of sources) visit(source);
  return found;
}

function failureTypes(): readonly string[] {
  const created = callsOf('create')
    .filter(({ expression }) => expression.getText() === 'ApplicationFailure.create')
    .flatMap(({ arguments: [options] }) =>
      options && ts.isObjectLiteralExpression(options) ? options.properties.flatMap(typeTexts) : [],
    );
  return sorted([...namedBy('nonRetryable', 1), ...namedBy('retryable', 1), ...created]);
}

function typeTexts(property: ts.ObjectLiteralElementLike): readonly string[] {
  if (property.name?.getText() !== 'type') return [];
  return ts.isPropertyAssignment(property) ? textsOf(property.initializer) : [];
}

/** What keys of the store begin with, where a session follows. */
function storeFolders(): readonly string[] {
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const isFolder = ts.isTemplateExpression(node) && node.head.text.endsWith('/');
    if (isFolder && node.templateSpans[0]?.expression.getText().startsWith('keySegment(')) found.push(node.head.text);
    ts.forEachChild(node, visit);
  };
  for (const source of sources.filter(({ text }) => text.includes('keySegment('))) visit(source);
  return sorted(found);
}

/** The words among the constants of the contract: queues, keys, signals, kinds. */
function contractWords(): readonly string[] {
  const found: string[] = [];
  const visit = (type: ts.Type): void => {
    if (type.isStringLiteral()) found.push(...(/^[\w.]+$/.test(type.value) ? [type.value] : []));
    else if (type.isUnion()) type.types.forEach(visit);
    else if ((type.flags & ts.TypeFlags.Object) !== 0 && type.getCallSignatures().length === 0)
      checker.getPropertiesOfType(type).forEach((property) => visit(checker.getTypeOfSymbol(property)));
  };
  for (const { fileName } of sources) {
    const path = relative(root, fileName);
    if (!path.startsWith('workflows/contract/')) continue;
    for (const symbol of exportsOf(path))
      if (symbol.flags & ts.SymbolFlags.Variable) visit(checker.getTypeOfSymbol(symbol));
  }
  return sorted(found);
}

const membersOf = (type: ts.Type): readonly string[] =>
  sorted(type.isUnion() ? type.types.flatMap((each) => (each.isStringLiteral() ? [each.value] : [])) : []);

const propertiesOf = (type: ts.Type): readonly string[] =>
  sorted(checker.getPropertiesOfType(type).map(({ name }) => name));

export function dataNames(): Names {
  return {
    workflows: sorted(exportsOf('workflows/index.ts').map(({ name }) => name)),
    activities: propertiesOf(typeNamed('RegisteredActivities')),
    signals: namedBy('defineSignal'),
    updates: namedBy('defineUpdate'),
    queries: namedBy('defineQuery'),
    patches: namedBy('patched'),
    'failure types': failureTypes(),
    'memo keys': sorted([
      ...callsOf('upsertMemo').flatMap(({ arguments: [memo] }) => (memo ? keysOf(memo) : [])),
      ...keysUnder('memo'),
    ]),
    'search attributes': sorted(Object.values(ATTRIBUTES).map(({ name, type }) => `${name} ${type}`)),
    'words of the contract': contractWords(),
    'folders of the store': storeFolders(),
    'records of calls': membersOf(typeNamed('RecordKind')),
  };
}

export const listText = (lists: Names): string =>
  `${Object.entries(lists)
    .map(([what, each]) => [`# ${what}`, ...each].join('\n'))
    .join('\n\n')}\n`;
