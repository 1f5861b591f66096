// The index of rules and of the tests whose titles name them. Each title that it names exists,
// because the index is made from the sources of the tests.
import { readdirSync, readFileSync } from 'node:fs';
import { fleetRules, libraryRules, operatorRules, rules, timeRules } from './rules.ts';

export type Proof = { readonly file: string; readonly title: string };

/** The proofs of each rule, by the rule's id. */
export type Proofs = ReadonlyMap<string, readonly Proof[]>;

export const allRules = [...rules, ...operatorRules, ...libraryRules, ...fleetRules, ...timeRules];

/**
 * A string literal in a test that ends with rule ids in brackets is a title, unless it names a kept
 * history.
 */
const titles = /(?<=[\s(,[])(?<!keepHistory\()(['"`])((?:(?!\1)[^\n])+ \((?:[A-Z]\d+ ?)+\))\1/g;

/** Reads every test below `root`, the folder of the repository. */
export function findProofs(root: string): Proofs {
  const files = readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  return proofsOf(
    files.sort().map((name) => ({ file: `test/${name}`, source: readFileSync(`${root}test/${name}`, 'utf8') })),
  );
}

export function proofsOf(tests: readonly { readonly file: string; readonly source: string }[]): Proofs {
  const found = new Map<string, Proof[]>();
  for (const { file, source } of tests) {
    for (const [, , title = ''] of source.matchAll(titles)) {
      for (const [id] of title.matchAll(/(?<=[( ])[LOQTW]\d+(?=[ )])/g)) {
        found.set(id, [...(found.get(id) ?? []), { file, title }]);
      }
    }
  }
  return found;
}

/** The index as a page of Markdown. */
export function loopTable(proofs: Proofs): string {
  const sections = allRules.map(({ id, rule }) => {
    const tests = (proofs.get(id) ?? []).map(({ file, title }) => `- \`${file}\` ${title.replaceAll('|', '\\|')}`);
    return [`### ${id} ${rule}`, ...new Set(tests)].join('\n');
  });
  const head = [
    '# The loop: rule → tests',
    'Each rule of the loop (L), of its operation (O), of the package (Q), of what many machines share (W) and of files over time (T), with the tests whose titles name it. `npm run loop-table` writes this page; git does not keep it.',
  ];
  return `${[...head, ...sections].join('\n\n')}\n`;
}
