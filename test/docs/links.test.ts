// What the documents point to is there: files, headings, and the commands of the README.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { DEMO_TASK } from '../../scripted-model/index.ts';
import { TOPS } from './house-report.mjs';

const root = resolve(import.meta.dirname, '../..');
const documents = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && name !== 'loop.md')
    .map((name) => `docs/${name}`),
  'scripted-model/README.md',
  'workflows/README.md',
];
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** As GitHub names headings. */
function anchors(path: string): readonly string[] {
  const headings = read(path).matchAll(/^#+ (.+)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\- ]/gu, '')
      .replaceAll(' ', '-'),
  );
}

function isThere(from: string, link: string): boolean {
  const [file = '', anchor] = link.split('#');
  const path = file === '' ? from : join(dirname(from), file);
  return existsSync(join(root, path)) && (anchor === undefined || anchors(path).includes(anchor));
}

describe('documents', () => {
  test.each(documents)('%s links to what is there', (path) => {
    const links = [...read(path).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !isThere(path, link))).toEqual([]);
  });

  test.each(documents)('%s names only tests that are there', (path) => {
    const tests = [...read(path).matchAll(/(?<![\w/.-])test\/[\w./-]+\.(?:test\.ts|ts|mjs)\b/g)].map(
      ([named]) => named,
    );
    expect(tests.filter((named) => !existsSync(join(root, named)))).toEqual([]);
  });

  test.each(documents.filter((path) => path !== 'CHANGELOG.md'))(
    '%s names only files of the tree that are there',
    (path) => {
      const named = [...read(path).matchAll(/`((?:[\w-]+\/)+(?:[\w.-]+\.\w+)?)`/g)].map(([, file = '']) => file);
      const ours = named.filter((file) => TOPS.some((top) => file.startsWith(`${top}/`)));
      expect(ours.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    },
  );

  test('no document links to the index of tests, which is generated and not in git', () => {
    expect(documents.filter((path) => read(path).includes('loop.md)'))).toEqual([]);
  });

  test('the loop is read in an evening: at most twelve files, with their lengths, 3,500 lines in all', () => {
    const rows = [...read('docs/architecture.md').matchAll(/^\| `([\w/.-]+)` \| (\d+) \|/gm)];
    const lengths = rows.map(([, path = '', told]) => ({
      path,
      told: Number(told),
      lines: read(path).split('\n').length - 1,
    }));
    expect(lengths.filter(({ told, lines }) => Math.abs(told - lines) > lines / 10)).toEqual([]);
    expect(lengths.length).toBeGreaterThan(0);
    expect(lengths.length).toBeLessThanOrEqual(12);
    expect(lengths.reduce((sum, { lines }) => sum + lines, 0)).toBeLessThanOrEqual(3_500);
  });

  test('the README shows the one task that needs no key', () => {
    expect(read('README.md')).toContain(`npm ci && npm start -- "${DEMO_TASK}"`);
  });
});
