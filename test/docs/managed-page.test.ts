// The tables of docs/managed.md are those of the routes. `npx vitest run --project fast test/docs
// -u` writes them.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { refusedPaths, servedRoutes } from '../../managed/surface.ts';

const page = resolve(import.meta.dirname, '../../docs/managed.md');
/** Everything between the head of a table and the next blank line. */
const served = /(?<=\| `client\.beta` \| methods \| role \|\n\|---\|---\|---\|\n)[^]*?(?=\n\n)/;
const refused = /(?<=\| not served \| paths \|\n\|---\|---\|\n)[^]*?(?=\n\n)/;

test('docs/managed.md has every method that is served or refused by name (G7)', async () => {
  const rows = new Map<string, { readonly names: string[]; readonly role: string }>();
  for (const { name, role, workers } of servedRoutes) {
    const resource = name.replace(/\.\w+$/, '');
    const who = [role ?? [], workers].flat(2).join(', ');
    const row = rows.get(`${resource} ${who}`) ?? { names: [`| \`${resource}\` `], role: who };
    row.names.push(`\`${name.replace(/^.*\./, '')}\``);
    rows.set(`${resource} ${who}`, row);
  }
  const routes = [...rows.values()].map(
    ({ names: [resource, ...methods], role }) => `${resource}| ${methods.join(', ')} | ${role} |`,
  );
  const others = refusedPaths.map(
    ({ capability, paths }) => `| \`${capability}\` | ${paths.map((path) => `\`${path}\``).join(', ')} |`,
  );
  const text = readFileSync(page, 'utf8')
    .replace(served, () => routes.join('\n'))
    .replace(refused, () => others.join('\n'));
  await expect(text).toMatchFileSnapshot(join(page));
});
