// The shapes of data: what crosses between workflow, activities and clients, and what the store
// keeps. One line for each shape of an object, with its fields and the texts that they can have,
// and without the names of types: those may change, what is written may not.
import { relative } from 'node:path';
import ts from 'typescript';
import { exportsOf, typeNamed } from './data-names.ts';
import { isOwnSource, root, sourceProgram } from './source-program.ts';

const program = sourceProgram();
const checker = program.getTypeChecker();

/** What the store keeps as JSON. */
const STORED = [
  'Segment',
  'RunConfig',
  'WorktreeRecord',
  'StoredStep',
  'Claim',
  'StopRecord',
  'RecordedOutcome',
  'DelegatedRecord',
  'ChildRecord',
  'StoredPause',
  'StoredWait',
  'LabelChange',
];

class Shapes {
  readonly lines = new Set<string>();
  readonly #seen = new Set<ts.Type>();

  add(type: ts.Type): void {
    if (this.#seen.has(type)) return;
    this.#seen.add(type);
    if (type.isUnionOrIntersection() && !isObject(type)) type.types.forEach((each) => this.add(each));
    else if (checker.isArrayType(type) || checker.isTupleType(type))
      checker.getTypeArguments(type as ts.TypeReference).forEach((each) => this.add(each));
    else if (isObject(type)) this.#addObject(type);
  }

  #addObject(type: ts.Type): void {
    for (const { type: value } of checker.getIndexInfosOfType(type)) this.add(value);
    const fields = checker.getPropertiesOfType(type).filter(isOwnField);
    if (fields.length > 0)
      this.lines.add(
        fields
          .map((field) => this.#describe(field))
          .toSorted()
          .join(' '),
      );
  }

  #describe(field: ts.Symbol): string {
    const type = checker.getTypeOfSymbol(field);
    this.add(type);
    const optional = (field.flags & ts.SymbolFlags.Optional) !== 0 ? '?' : '';
    const values = valuesOf(type).toSorted();
    return `${field.name}${optional}${values.length === 0 ? '' : `=${values.join('|')}`}`;
  }
}

/** Neither a text with a brand nor one of a package. */
const isObject = (type: ts.Type): boolean =>
  (type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)) !== 0 &&
  !(type.isIntersection() && type.types.some(({ flags }) => (flags & ts.TypeFlags.String) !== 0)) &&
  type.getCallSignatures().length === 0;

/** A field of data: no mark of a brand, no function, and declared by us. */
const isOwnField = (field: ts.Symbol): boolean =>
  !field.name.startsWith('__@') &&
  checker.getTypeOfSymbol(field).getCallSignatures().length === 0 &&
  (field.declarations ?? []).every((each) => isOwnSource(each.getSourceFile()));

function valuesOf(type: ts.Type): readonly string[] {
  if (type.isStringLiteral() || type.isNumberLiteral()) return [String(type.value)];
  return type.isUnion() ? type.types.flatMap(valuesOf) : [];
}

function describeAll(types: readonly ts.Type[]): readonly string[] {
  const shapes = new Shapes();
  for (const type of types) shapes.add(type);
  return [...shapes.lines].toSorted();
}

/** What the workflows and activities take and return. */
function crossing(): readonly ts.Type[] {
  const activities = checker.getPropertiesOfType(typeNamed('Activities'));
  return [...exportsOf('workflows/index.ts').map(resolve), ...activities].flatMap((symbol) =>
    checker
      .getTypeOfSymbol(symbol)
      .getCallSignatures()
      .flatMap((call) => [...call.parameters.map((each) => checker.getTypeOfSymbol(each)), awaited(call)]),
  );
}

const resolve = (symbol: ts.Symbol): ts.Symbol =>
  symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;

const awaited = (call: ts.Signature): ts.Type => {
  const result = call.getReturnType();
  return checker.getAwaitedType(result) ?? result;
};

/** Every type that a file of the contract exports. */
function contractTypes(): readonly ts.Type[] {
  const files = program.getSourceFiles().map(({ fileName }) => relative(root, fileName));
  return files
    .filter((path) => path.startsWith('workflows/contract/'))
    .flatMap((path) => exportsOf(path).map(resolve))
    .filter(({ flags }) => (flags & ts.SymbolFlags.TypeAlias) !== 0)
    .map((symbol) => checker.getDeclaredTypeOfSymbol(symbol));
}

export function dataShapes(): Readonly<Record<string, readonly string[]>> {
  return {
    'what crosses between workflows, activities and clients': describeAll([...crossing(), ...contractTypes()]),
    'what the store keeps': describeAll(STORED.map(typeNamed)),
  };
}
