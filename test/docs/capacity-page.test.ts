// docs/capacity.md: its plan is computed from the costs in bench/plan.ts. `npx vitest run --project
// fast test/docs -u` rewrites it.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { planTables } from '../../bench/plan.ts';

const page = readFileSync(new URL('../../docs/capacity.md', import.meta.url), 'utf8');
const [unit = '', stored = '', flow = '', limits = ''] = planTables().split('\n\n');

test('the tables of docs/capacity.md are those that follow from the measured costs', async () => {
  const tables: Readonly<Record<string, string>> = { unit, stored, flow, limits };
  const made = /(?<=<!-- computed: (\w+) -->\n)[\s\S]*?(?=<!-- end -->)/g;
  expect([...page.matchAll(made)].map(([, name]) => name)).toEqual(Object.keys(tables));
  const computed = page.replaceAll(made, (_, name: string) => `\n${tables[name]}\n\n`);
  await expect(computed).toMatchFileSnapshot('../../docs/capacity.md');
});
