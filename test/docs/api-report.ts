// The public API read from the sources: what each entry of the package exports, with its docstring,
// and every type of ours that an exported one names though no entry exports it. An exported function
// has to write down its result.
import { join } from 'node:path';
import ts from 'typescript';
import { entryExports, isOfPackage, isPublic, keyOf, lookUp, lookUpAnywhere, parse, type Found } from './api-names.ts';
import { codeOf, docOf } from './api-text.ts';
import { entrySources, root } from './source-program.ts';

export type Item = { readonly name: string; readonly doc: string; readonly code: string };

/** `entry`: as it is imported. `about`: the opening comment of its source. */
export type Entry = { readonly entry: string; readonly about: string; readonly items: readonly Item[] };

export function readApi(): readonly Entry[] {
  const sources = entrySources();
  return [...entryExports()].map(([entry, found]) => ({
    entry,
    about: openingComment(join(root, sources.get(entry) ?? '')),
    items: [...found]
      .toSorted(([a], [b]) => a.localeCompare(b, 'en'))
      .map(([name, declared]) => ({ name, doc: docOf(declared), code: codeOf(declared, name) })),
  }));
}

/** Types of ours that exported ones name, and no entry exports: who names each. */
export function hiddenTypes(): readonly string[] {
  const found = [...entryExports().values()].flatMap((exported) =>
    [...exported.values()].flatMap((item) =>
      namedIn(item).map((hidden) => `${keyOf(hidden)} is named by ${keyOf(item)}`),
    ),
  );
  return [...new Set(found)].toSorted();
}

function openingComment(file: string): string {
  const lines = parse(file).text.split('\n');
  const end = lines.findIndex((line) => !line.startsWith('//'));
  return lines
    .slice(0, end)
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join(' ');
}

/** Types of ours that stand in what is shown of it, and that no entry exports. */
function namedIn(item: Found): readonly Found[] {
  const shown = ts.createSourceFile('shown.ts', codeOf(item, item.name), ts.ScriptTarget.Latest, true);
  const names = [...namesIn(shown)].filter((name) => !isOfPackage(item.file, name));
  const named = names.flatMap((name) => lookUp(item.file, name) ?? lookUpAnywhere(name) ?? []);
  return named.filter((found) => !isPublic(found) && keyOf(found) !== keyOf(item));
}

/** The names that a text refers to, without those of its own type parameters. */
function namesIn(node: ts.Node): ReadonlySet<string> {
  const parameters = new Set<string>();
  const names = new Set<string>();
  const visit = (child: ts.Node): void => {
    if (ts.isTypeParameterDeclaration(child)) parameters.add(child.name.text);
    else if (ts.isTypeReferenceNode(child)) names.add(child.typeName.getText().split('.')[0] ?? '');
    else if (ts.isTypeQueryNode(child)) names.add(child.exprName.getText().split('.')[0] ?? '');
    else if (ts.isExpressionWithTypeArguments(child)) names.add(child.expression.getText());
    ts.forEachChild(child, visit);
  };
  visit(node);
  return new Set([...names].filter((name) => !parameters.has(name)));
}
