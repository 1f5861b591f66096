// docs/loop.md is made here from the titles of the tests: it cannot name a test that is not there.
// `npx vitest -u` rewrites it.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { fleetRules, libraryRules, operatorRules, rules } from './rules.ts';

const all = [...rules, ...operatorRules, ...libraryRules, ...fleetRules];

const root = new URL('../../', import.meta.url).pathname;

type Proof = { readonly file: string; readonly title: string };

/**
 * A string literal in a test that ends with rule ids in brackets is a title, unless it names a kept
 * history.
 */
const titles = /(?<=[\s(,[])(?<!keepHistory\()(['"`])((?:(?!\1)[^\n])+ \((?:[A-Z]\d+ ?)+\))\1/g;

function findProofs(): ReadonlyMap<string, readonly Proof[]> {
  const found = new Map<string, Proof[]>();
  const files = readdirSync(`${root}test`, { recursive: true, encoding: 'utf8' }).filter((name) =>
    name.endsWith('.ts'),
  );
  for (const file of files.sort().map((name) => `test/${name}`)) {
    const source = readFileSync(`${root}${file}`, 'utf8');
    for (const [, , title = ''] of source.matchAll(titles)) {
      for (const [id] of title.matchAll(/(?<=[( ])[LOQW]\d+(?=[ )])/g)) {
        const known = found.get(id) ?? [];
        found.set(id, [...known, { file, title }]);
      }
    }
  }
  return found;
}

const proofs = findProofs();

function table(found: typeof proofs): string {
  const sections = all.map(({ id, rule }) => {
    const tests = (found.get(id) ?? []).map(({ file, title }) => `- \`${file}\` ${title.replaceAll('|', '\\|')}`);
    return [`### ${id} ${rule}`, ...new Set(tests)].join('\n');
  });
  const head = [
    '# The loop: rule → tests',
    'Each rule of the loop (L), of its operation (O), of the package (Q) and of what many machines share (W), with the tests whose titles name it. Made by `test/docs/loop-table.test.ts`; rewrite it with `npx vitest run --project fast test/docs -u`.',
  ];
  return `${[...head, ...sections].join('\n\n')}\n`;
}

describe('docs/loop.md', () => {
  test('names the tests of each rule', async () => {
    await expect(table(proofs)).toMatchFileSnapshot('../../docs/loop.md');
  });

  test.each(all.map(({ id }) => id))('%s has a test', (id) => {
    expect(proofs.get(id) ?? []).not.toEqual([]);
  });
});
