// docs/api/ is made here from the sources: a page for each entry of the package. Whatever changes
// there changes what users build on (semver from 0.1).
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format } from 'prettier';
import { expect, test } from 'vitest';
import { hiddenTypes, readApi, type Item } from './api-report.ts';
import { entrySources, root } from './source-program.ts';

const entries = await Promise.all(
  readApi().map(async (entry) => ({ ...entry, items: await Promise.all(entry.items.map(formatted)) })),
);

const pageOf = (entry: string): string => `${entry.replaceAll('/', '-')}.md`;
const MADE = 'Made by `test/docs/api-pages.test.ts` from the sources.';

/** What was written out in another place has the indentation of where it stood. */
async function formatted(item: Item): Promise<Item> {
  if (!item.code.startsWith('type ')) return item;
  const options = { parser: 'typescript', printWidth: 120, singleQuote: true };
  return { ...item, code: (await format(item.code, options)).trimEnd() };
}

const section = ({ name, doc, code }: Item): string =>
  [`## ${name}`, ...(doc === '' ? [] : [doc]), `\`\`\`ts\n${code}\n\`\`\``].join('\n\n');

const page = (...parts: readonly string[]): string => `${parts.join('\n\n')}\n`;

function index(): string {
  const rows = entries.map(
    ({ entry, items }) => `| [\`${entry}\`](${pageOf(entry)}) | ${items.map(({ name }) => `\`${name}\``).join(' ')} |`,
  );
  return page(
    '# The API',
    'Each entry of the package and its exports. Whatever is not on these pages may change in any version.',
    ['| import from | exports |', '|---|---|', ...rows].join('\n'),
    'Also made from the sources: the [commands](cli.md), the [options of a run](run-options.md), and [what servers say of a request that is too long](too-long.md). [Events](../events.md) have a schema.',
    MADE,
  );
}

const files = new Map([
  ['README.md', index()],
  ...entries.map(
    ({ entry, about, items }) => [pageOf(entry), page(`# ${entry}`, about, ...items.map(section))] as const,
  ),
]);

test.each([...files])(
  'docs/api/%s is the API: `npx vitest run --project fast test/docs -u`, and CHANGELOG.md if it changed (Q2)',
  async (name, text) => {
    await expect(text).toMatchFileSnapshot(join(root, 'docs/api', name));
  },
);

test('every type that an exported one names is exported by an entry, or written out where it is named (Q2)', () => {
  expect(hiddenTypes()).toEqual([]);
});

/** Made from other sources, or held to them, by tests of their own. */
const OTHERS = ['agent-sdk-rows.md', 'cli.md', 'run-options.md', 'too-long.md'];

test('docs/api/ has no page of an entry that is gone (Q2)', () => {
  expect(readdirSync(join(root, 'docs/api')).toSorted()).toEqual([...files.keys(), ...OTHERS].toSorted());
});

test('every exported function and class says what it does (Q2)', () => {
  const silent = entries.flatMap(({ entry, items }) =>
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
