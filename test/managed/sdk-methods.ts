// Requests and answers by the SDK's types: the compiler reads the signature of a method, each
// argument is drawn from its type, and an answer is held to what the method returns. What an update
// of the SDK adds is drawn and asked for, too.
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import type { Random } from '../support/random.ts';

const declarations = join(dirname(createRequire(import.meta.url).resolve('@anthropic-ai/sdk')), 'client.d.ts');

/** Draws what a string is, by the name of its field or parameter. */
export type StringFor = (name: string, dice: Random) => string;

export type SdkMethod = {
  /** Draws the arguments of a call: path parameters, then an object where the method takes one. */
  readonly draw: (dice: Random, stringFor: StringFor) => readonly unknown[];
  /** Tells where an answer is none of the declared type; null where it is one. */
  readonly misfit: (answer: unknown) => string | null;
};

/** Returns methods below `client.beta` by their names, such as `sessions.events.send`. */
export function sdkMethods(names: readonly string[]): ReadonlyMap<string, SdkMethod> {
  const program = ts.createProgram([declarations], {
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    strict: true,
    skipLibCheck: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(declarations);
  const client =
    source &&
    checker
      .getExportsOfModule(checker.getSymbolAtLocation(source) as ts.Symbol)
      .find(({ name }) => name === 'Anthropic');
  if (!source || !client) throw new Error('the SDK declares no client');
  const typeOf = (symbol: ts.Symbol): ts.Type => checker.getTypeOfSymbolAtLocation(symbol, source);
  const beta = typeOf(property(checker.getDeclaredTypeOfSymbol(client), 'beta'));
  const methodNamed = (name: string): ts.Type =>
    name.split('.').reduce((type, part) => typeOf(property(type, part)), beta);
  const draw = drawer(checker, typeOf);
  const misfit = fitting(checker, typeOf);
  return new Map(
    names.map((name) => {
      // The first signature has all parameters.
      const [signature] = methodNamed(name).getCallSignatures();
      const parameters = (signature?.getParameters() ?? []).filter(({ name: own }) => own !== 'options');
      const returned = signature && (checker.getReturnTypeOfSignature(signature) as ts.TypeReference);
      const [answer, item] = returned ? checker.getTypeArguments(returned) : [];
      return [
        name,
        {
          draw: (dice, stringFor) => parameters.map((one) => draw(typeOf(one), one.name, { dice, stringFor })),
          misfit: (value) =>
            // A list's promise is of a page and its items.
            item
              ? firstOf((value as { readonly data: readonly unknown[] }).data, (one, at) =>
                  misfit(item, one, `[${at}]`),
                )
              : misfit(answer as ts.Type, value, ''),
        },
      ];
    }),
  );
}

/** Keys that are Perdure's own, beside those of a type. */
const OWN = new Set(['perdure']);

type Misfit = (type: ts.Type, value: unknown, path: string) => string | null;

function firstOf<One>(all: readonly One[], find: (one: One, at: number) => string | null): string | null {
  for (const [at, one] of all.entries()) {
    const found = find(one, at);
    if (found !== null) return found;
  }
  return null;
}

function fitting(checker: ts.TypeChecker, typeOf: (symbol: ts.Symbol) => ts.Type): Misfit {
  const objectMisfit: Misfit = (type, value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path}: ${JSON.stringify(value)}`;
    const values = checker.getIndexTypeOfType(type, ts.IndexKind.String);
    const known = new Map(checker.getPropertiesOfType(type).map((field) => [field.name, field]));
    const lacking = [...known.values()].find(
      (field) => (field.flags & ts.SymbolFlags.Optional) === 0 && !(field.name in value),
    );
    if (lacking) return `${path}.${lacking.name} is missing`;
    return firstOf(Object.entries(value), ([name, one]) => {
      const field = known.get(name);
      const own = field ? typeOf(field) : values;
      if (own) return misfit(own, one, `${path}.${name}`);
      return OWN.has(name) ? null : `${path}.${name} is in no type`;
    });
  };
  const misfit: Misfit = (type, value, path) => {
    const wrong = (fits: boolean): string | null => (fits ? null : `${path}: ${JSON.stringify(value)}`);
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return null;
    if (type.isUnion()) {
      const misfits = type.types.map((one) => misfit(one, value, path));
      return misfits.includes(null) ? null : (misfits.findLast((one) => one?.includes('.')) ?? misfits[0] ?? null);
    }
    // `string & {}` stands beside the names that the SDK knows.
    if (type.isIntersection()) return firstOf(type.types.slice(0, 1), (one) => misfit(one, value, path));
    if (type.isStringLiteral() || type.isNumberLiteral()) return wrong(value === type.value);
    if (type.flags & ts.TypeFlags.BooleanLiteral) return wrong(String(value) === checker.typeToString(type));
    // The SDK's `string & {}` is any string.
    const text = type.isIntersection() ? (type.types[0] as ts.Type) : type;
    if (text.flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) return wrong(typeof value === 'string');
    if (type.flags & ts.TypeFlags.Number) return wrong(typeof value === 'number');
    if (type.flags & ts.TypeFlags.Null) return wrong(value === null);
    if (type.flags & ts.TypeFlags.Undefined) return wrong(value === undefined);
    if (!checker.isArrayType(type)) return objectMisfit(type, value, path);
    const [item] = checker.getTypeArguments(type as ts.TypeReference);
    if (!Array.isArray(value)) return wrong(false);
    return firstOf(value as readonly unknown[], (one, at) => misfit(item as ts.Type, one, `${path}[${at}]`));
  };
  return misfit;
}

function property(type: ts.Type, name: string): ts.Symbol {
  const found = type.getProperty(name);
  if (!found) throw new Error(`the SDK has no ${name}`);
  return found;
}

type Drawing = { readonly dice: Random; readonly stringFor: StringFor; readonly depth?: number };
type Draw = (type: ts.Type, name: string, drawing: Drawing) => unknown;

const DEEPEST = 12;

function drawer(checker: ts.TypeChecker, typeOf: (symbol: ts.Symbol) => ts.Type): Draw {
  const drawObject = (type: ts.Type, { depth = 0, ...drawing }: Drawing): object => {
    const { dice } = drawing;
    const fields = checker.getPropertiesOfType(type).flatMap((field) => {
      const isOptional = (field.flags & ts.SymbolFlags.Optional) !== 0;
      if (isOptional && (depth > DEEPEST || dice.nat(2) > 0)) return [];
      return [[field.name, draw(typeOf(field), field.name, { ...drawing, depth: depth + 1 })] as const];
    });
    const values = checker.getIndexTypeOfType(type, ts.IndexKind.String);
    const keys = values ? Array.from({ length: dice.nat(3) }, () => `key${dice.nat(9)}`) : [];
    const pairs = keys.map((key) => [key, draw(values as ts.Type, key, { ...drawing, depth: depth + 1 })] as const);
    return Object.fromEntries([...fields, ...pairs]);
  };
  const draw: Draw = (type, name, drawing) => {
    const { dice, stringFor, depth = 0 } = drawing;
    if (type.isUnion()) return draw(type.types[dice.nat(type.types.length - 1)] as ts.Type, name, drawing);
    if (type.isStringLiteral() || type.isNumberLiteral()) return type.value;
    if (type.flags & ts.TypeFlags.BooleanLiteral) return checker.typeToString(type) === 'true';
    if (type.flags & (ts.TypeFlags.String | ts.TypeFlags.TemplateLiteral)) return stringFor(name, dice);
    if (type.flags & ts.TypeFlags.Number) return dice.pick([0, 1, 2, 20, 999, 1_000, 1_001, -1, 0.5, 2 ** 53]);
    if (type.flags & ts.TypeFlags.Null) return null;
    if (type.flags & ts.TypeFlags.Undefined) return undefined;
    if (type.flags & (ts.TypeFlags.Any | ts.TypeFlags.Unknown)) return dice.pick([null, 1, 'text', [], {}]);
    if (!checker.isArrayType(type)) return drawObject(type, drawing);
    const [item] = checker.getTypeArguments(type as ts.TypeReference);
    const length = depth > DEEPEST ? 0 : dice.nat(3);
    return Array.from({ length }, () => draw(item as ts.Type, name, { ...drawing, depth: depth + 1 }));
  };
  return draw;
}
