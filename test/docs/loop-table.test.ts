// Each rule has a test, and the index that `npm run loop-table` writes names it.
import { describe, expect, test } from 'vitest';
import { allRules, findProofs, loopTable, proofsOf } from './loop-table.ts';

const proofs = findProofs(new URL('../../', import.meta.url).pathname);

describe('the index of rules', () => {
  test.each(allRules.map(({ id }) => id))('%s has a test', (id) => {
    expect(proofs.get(id) ?? []).not.toEqual([]);
  });

  test('lists every rule, each with its tests', () => {
    const page = loopTable(proofs);
    const missing = allRules.filter(({ id, rule }) => {
      const [first] = proofs.get(id) ?? [];
      return !page.includes(`### ${id} ${rule}\n- \`${first?.file}\` `);
    });
    expect(missing).toEqual([]);
  });

  test('finds the titles that end with ids, and lists one under each of its ids', () => {
    const ids = 'L1 O2'; // Apart from the title, so that the real index does not list it.
    const source = `test('a | stays (${ids})', run);\ntest('names no rule', run);\nkeepHistory('an old one (L3)');\n`;
    const found = proofsOf([{ file: 'test/some.test.ts', source }]);
    expect([...found.keys()]).toEqual(['L1', 'O2']);
    expect(loopTable(found)).toContain('- `test/some.test.ts` a \\| stays (L1 O2)\n');
  });
});
