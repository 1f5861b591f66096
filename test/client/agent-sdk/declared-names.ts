// Lists the exports of a declaration file by name: the member names of a type, the texts of a union
// of texts, and the kinds of messages. It keeps names alone, so that two declarations can be
// compared without copying one into the repository of the other.
import ts from 'typescript';

/** Maps each export to its names. Null stands for a value, or a type without members. */
export type DeclaredNames = Readonly<Record<string, readonly string[] | null>>;

export function declaredNames(file: string, options: ts.CompilerOptions): DeclaredNames {
  const program = ts.createProgram([file], { ...options, noEmit: true, skipLibCheck: true });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(file);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${file} exports nothing`);
  const names = checker
    .getExportsOfModule(module)
    .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
    .map((symbol) => [symbol.name, membersOf(checker, symbol)] as const);
  return Object.fromEntries(names.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function membersOf(checker: ts.TypeChecker, symbol: ts.Symbol): readonly string[] | null {
  if (!(symbol.flags & (ts.SymbolFlags.TypeAlias | ts.SymbolFlags.Interface))) return null;
  const type = checker.getDeclaredTypeOfSymbol(symbol);
  const parts = type.isUnion() ? type.types : [type];
  if (parts.every((part) => part.isStringLiteral())) return parts.map((part) => part.value).toSorted();
  if (symbol.name === 'SDKMessage') return [...new Set(parts.map((part) => kindOf(checker, part)))].toSorted();
  if (parts.some((part) => part.getCallSignatures().length > 0 || !(part.flags & ts.TypeFlags.StructuredType)))
    return null;
  const members = new Set(parts.flatMap((part) => part.getProperties().map(({ name }) => name)));
  return [...members].filter((name) => !name.startsWith('__')).toSorted();
}

function kindOf(checker: ts.TypeChecker, type: ts.Type): string {
  const text = (name: string): string => {
    const property = type.getProperty(name);
    return property ? checker.typeToString(checker.getTypeOfSymbol(property)).replaceAll('"', '') : '';
  };
  const kind = text('type');
  return kind === 'system' ? `${kind}/${text('subtype')}` : kind;
}
