// The tables of docs/managed.md are those of the routes. `npx vitest run --project fast test/docs
// -u` writes them.
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { refusedPaths, servedRoutes } from '../../managed/surface.ts';

const page = resolve(import.meta.dirname, '../../docs/managed.md');
/** Everything between the head of a table and the next blank line. */
const served = /(?<=\| method of `client\.beta` \| request \| role \|\n\|---\|---\|---\|\n)[^]*?(?=\n\n)/;
const refused = /(?<=\| not served \| paths \|\n\|---\|---\|\n)[^]*?(?=\n\n)/;

test('docs/managed.md has every path that is served or refused by name (G7)', async () => {
  const routes = servedRoutes.map(
    ({ name, method, path, role, workers }) =>
      `| \`${name}\` | \`${method.toUpperCase()} ${path}\` | ${[role ?? [], workers].flat(2).join(', ')} |`,
  );
  const others = refusedPaths.map(
    ({ capability, paths }) => `| \`${capability}\` | ${paths.map((path) => `\`${path}\``).join(', ')} |`,
  );
  const text = readFileSync(page, 'utf8')
    .replace(served, () => routes.join('\n'))
    .replace(refused, () => others.join('\n'));
  await expect(text).toMatchFileSnapshot(join(page));
});
