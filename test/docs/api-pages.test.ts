// docs/api/ is made here from the sources: a page for each entry of the package, and one for the
// types behind them. Whatever changes there changes what users build on (semver from 0.1).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readApi, type Item } from './api-report.ts';
import { entrySources, root } from './source-program.ts';

const api = readApi();
const pageOf = (entry: string): string => `${entry.replaceAll('/', '-')}.md`;
const MADE = 'Made by `test/docs/api-pages.test.ts` from the sources.';

const section = ({ name, doc, code }: Item): string =>
  [`## ${name}`, ...(doc === '' ? [] : [doc]), `\`\`\`ts\n${code}\n\`\`\``].join('\n\n');

const page = (...parts: readonly string[]): string => `${parts.join('\n\n')}\n`;

function index(): string {
  const rows = api.entries.map(
    ({ entry, items }) => `| [\`${entry}\`](${pageOf(entry)}) | ${items.map(({ name }) => `\`${name}\``).join(' ')} |`,
  );
  return page(
    '# The API',
    'Each entry of the package and its exports. Whatever is not on these pages may change in any version.',
    ['| import from | exports |', '|---|---|', ...rows].join('\n'),
    'The exported types name [others](types.md), which no entry exports. [Events](../events.md) have a schema.',
    MADE,
  );
}

const files = new Map([
  ['README.md', index()],
  ...api.entries.map(
    ({ entry, about, items }) => [pageOf(entry), page(`# ${entry}`, about, ...items.map(section))] as const,
  ),
  [
    'types.md',
    page('# Types behind the API', 'Named by exported ones, exported by no entry.', ...api.others.map(section)),
  ],
]);

test.each([...files])(
  'docs/api/%s is the API: `npx vitest run --project fast test/docs -u`, and CHANGELOG.md if it changed (Q2)',
  async (name, text) => {
    await expect(text).toMatchFileSnapshot(join(root, 'docs/api', name));
  },
);

test('docs/api/ has no page of an entry that is gone (Q2)', () => {
  expect(readdirSync(join(root, 'docs/api')).toSorted()).toEqual([...files.keys()].toSorted());
});

test('every exported function and class says what it does (Q2)', () => {
  const silent = api.entries.flatMap(({ entry, items }) =>
    items
      .filter(({ doc, code }) => doc === '' && /^(?:function|class)/.test(code))
      .map(({ name }) => `${entry}: ${name}`),
  );
  expect(silent).toEqual([]);
});

test('the compiler reads what examples import from the source of each entry (Q2)', () => {
  const { compilerOptions } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8')) as {
    readonly compilerOptions: { readonly paths: Readonly<Record<string, readonly string[]>> };
  };
  const expected = [...entrySources()].map(([entry, source]) => [entry, [`./${source}`]]);
  expect(compilerOptions.paths).toEqual(Object.fromEntries(expected));
});
