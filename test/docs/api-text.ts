// How the report of the API shows a declaration: its text without bodies. Types that its file keeps
// to itself are written out, and those that follow from a value are told as the compiler sees them.
import { relative } from 'node:path';
import ts from 'typescript';
import { isExported, isPublic, lookUp, parse, type Found } from './api-names.ts';
import { root, sourceProgram } from './source-program.ts';

export function docOf({ node }: Found): string {
  const [doc] = ts.getJSDocCommentsAndTags(node).filter((each) => ts.isJSDoc(each));
  return doc ? plainDoc(doc.getText()) : '';
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

/** `as`: the name that an entry gives it. */
export function codeOf({ file, node, name }: Found, as: string): string {
  if (ts.isFunctionDeclaration(node)) return `function ${as}${signature(node, file)};`;
  if (ts.isClassDeclaration(node)) {
    const heritage = node.heritageClauses?.map((clause) => ` ${clause.getText()}`).join('') ?? '';
    const members = node.members
      .filter((member) => !isPrivate(member))
      .map((member) => `  ${memberCode(member, file)}`);
    return [`class ${as}${heritage} {`, ...members, '}'].join('\n');
  }
  if (ts.isVariableStatement(node)) return valueCode(node, name, as, file);
  if (ts.isTypeAliasDeclaration(node) && readsValue(file, node.type)) return inferredCode(node);
  return inlined(file, node).replace(/^export /, '');
}

function valueCode(node: ts.VariableStatement, name: string, as: string, file: string): string {
  const declared = node.declarationList.declarations.find((each) => each.name.getText() === name);
  const { type, initializer } = declared ?? {};
  if (type) return `const ${as}: ${inlined(file, type)};`;
  if (initializer && ts.isArrowFunction(initializer)) return `function ${as}${signature(initializer, file)};`;
  return `const ${as};`;
}

/**
 * The text of a node, with the types in it that its file keeps to itself written out, and with what
 * is picked from a type that no entry exports.
 */
function inlined(file: string, node: ts.Node, above: readonly string[] = []): string {
  const edits: { readonly from: number; readonly to: number; readonly text: string }[] = [];
  const visit = (child: ts.Node): void => {
    const text = ts.isTypeReferenceNode(child) ? writtenOut(file, child, above) : null;
    if (text === null) return ts.forEachChild(child, visit);
    edits.push({ from: child.getStart(), to: child.end, text });
  };
  visit(node);
  const source = parse(file).text;
  const start = node.getStart();
  const ends = edits.map(({ to }) => to);
  const parts = edits.map(({ from, text }, at) => source.slice(ends[at - 1] ?? start, from) + text);
  return [...parts, source.slice(ends.at(-1) ?? start, node.end)].join('');
}

const PICKING = ['Pick', 'Omit', 'Extract', 'Exclude'];

function writtenOut(file: string, node: ts.TypeReferenceNode, above: readonly string[]): string | null {
  const name = node.typeName.getText();
  if (PICKING.includes(name)) return picksHidden(file, node) ? typeText(checkerType(node), '  ') : null;
  const alias = findAlias(file, name);
  if (!alias || isExported(alias) || above.includes(name)) return null;
  const given = (node.typeArguments ?? []).map((each) => inlined(file, each, above));
  const text = withArguments(alias, inlined(file, alias.type, [...above, name]), given);
  const isWhole = !ts.isUnionTypeNode(alias.type) && !ts.isIntersectionTypeNode(alias.type);
  return isWhole || !isOperand(node) ? text : `(${text.replace(/^\n? *\| /, '')})`;
}

/** Whether it stands where an operator would tear a union apart. */
const isOperand = ({ parent }: ts.Node): boolean =>
  ts.isArrayTypeNode(parent) ||
  ts.isIntersectionTypeNode(parent) ||
  ts.isTypeOperatorNode(parent) ||
  ts.isIndexedAccessTypeNode(parent);

function withArguments(alias: ts.TypeAliasDeclaration, text: string, given: readonly string[]): string {
  return (alias.typeParameters ?? []).reduce(
    (written: string, { name }, at) =>
      written.replaceAll(new RegExp(`\\b${name.text}\\b`, 'g'), () => given[at] ?? name.text),
    text,
  );
}

function picksHidden(file: string, node: ts.TypeReferenceNode): boolean {
  const [from] = node.typeArguments ?? [];
  const named = from && ts.isTypeReferenceNode(from) ? lookUp(file, from.typeName.getText()) : null;
  return named !== null && !isPublic(named);
}

const checkerType = (node: ts.TypeNode): ts.Type => sourceProgram().getTypeChecker().getTypeFromTypeNode(node);

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

function inferredCode(alias: ts.TypeAliasDeclaration): string {
  const generic = alias.typeParameters?.map((each) => each.getText()).join(', ');
  return `type ${alias.name.text}${generic === undefined ? '' : `<${generic}>`} =${typeText(checkerType(alias.type))};`;
}

/** A type as the compiler sees it, with the docstrings of its fields. */
function typeText(type: ts.Type, indent = ''): string {
  const checker = sourceProgram().getTypeChecker();
  const members = type.isUnion() && type.types.some(isObject) ? type.types : null;
  if (!members) return ` ${isObject(type) ? objectCode(checker, type, `${indent}  `) : typeCode(checker, type)}`;
  return members
    .toSorted((one, other) => placeOfType(checker, one) - placeOfType(checker, other))
    .map((each) => `\n${indent}  | ${objectCode(checker, each, `${indent}      `)}`)
    .join('');
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
  if (ts.isConstructorDeclaration(member)) return `constructor(${parameters(member, file)});`;
  if (ts.isMethodDeclaration(member)) return `${member.name.getText()}${signature(member, file)};`;
  if (ts.isGetAccessorDeclaration(member)) return `get ${member.name.getText()}${signature(member, file)};`;
  return inlined(file, member);
}

function signature(node: ts.SignatureDeclaration, file: string): string {
  if (!node.type)
    throw new Error(
      `${relative(root, file)}: ${node.name?.getText() ?? 'a function'} is public: write its result down`,
    );
  const generic = node.typeParameters ? `<${node.typeParameters.map((each) => each.getText()).join(', ')}>` : '';
  return `${generic}(${parameters(node, file)}): ${inlined(file, node.type)}`;
}

/** Without defaults, and without the names in a pattern. */
function parameters(node: ts.SignatureDeclaration, file: string): string {
  return node.parameters
    .map(({ name, type, questionToken, initializer, dotDotDotToken }) => {
      const named = ts.isIdentifier(name) ? name.text : '{ … }';
      const optional = questionToken || initializer ? '?' : '';
      return `${dotDotDotToken ? '...' : ''}${named}${optional}${type ? `: ${inlined(file, type)}` : ''}`;
    })
    .join(', ');
}
