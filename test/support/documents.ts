// The documents that a reader opens, and the blocks of code in them.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

const markdownIn = (folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));

/** From the root. Without what is generated: docs/loop.md, and docs/api but for one page. */
export const pages: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  ...markdownIn('docs').filter((page) => page !== 'docs/loop.md'),
  'docs/api/agent-sdk-rows.md',
  ...markdownIn('docs/decisions'),
  ...readdirSync(join(root, 'examples')).flatMap((name) => markdownIn(join('examples', name))),
];

export const readPage = (page: string): string => readFileSync(join(root, page), 'utf8');

export type Block = {
  readonly page: string;
  /** Of its first line of code. */
  readonly line: number;
  readonly language: string;
  /** Without the indentation of its fence. */
  readonly code: string;
  /** From a comment `<!-- not run: reason -->` in the line before; null without one. */
  readonly notRun: string | null;
};

const FENCED = /^(?: *<!-- not run: (.+) -->\n)?( *)```(\w*)\n([\s\S]*?)^ *```$/gm;

export function blocksOf(page: string): readonly Block[] {
  const text = readPage(page);
  return [...text.matchAll(FENCED)].map(([whole, notRun = null, indent = '', language = '', code = '']) => ({
    page,
    line: text.slice(0, text.indexOf(whole)).split('\n').length + (notRun === null ? 1 : 2),
    language,
    code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    notRun,
  }));
}

/** The languages of blocks that a reader types into a shell. */
const SHELL: ReadonlySet<string> = new Set(['sh', 'bash', 'console']);

/**
 * The blocks of a page that a reader types into a shell, without those marked as not run. A test
 * that runs them says how many there are.
 */
export const shellBlocks = (page: string): readonly Block[] =>
  blocksOf(page).filter(({ language, notRun }) => SHELL.has(language) && notRun === null);

/** Returns the lines that a reader types: in a block with output, those after a prompt. */
export const typedLines = ({ language, code }: Block): readonly string[] => {
  const lines = code.trimEnd().split('\n');
  return language === 'console' ? lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2)) : lines;
};
