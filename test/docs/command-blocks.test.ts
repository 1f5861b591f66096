// The program knows each command line of the documents, and a test runs each block of commands, or
// the line before the block says why none does.
import { expect, test } from 'vitest';
import { blocksOf, pages, readPage, shellBlocks, typedLines } from '../support/documents.ts';
import { commandLines, problemOf } from './command-lines.ts';

/** The test that runs the blocks of a page, with their languages. */
const RUN_BY: Readonly<Record<string, string>> = {
  'README.md sh': 'test/commands/documents.test.ts',
  'docs/cli.md sh': 'test/commands/documents.test.ts',
  'docs/embedding.md sh': 'test/server/any-client.test.ts',
  'docs/finding.md sh': 'test/commands/documents.test.ts',
  'docs/http.md sh': 'test/commands/serve.test.ts',
  'docs/operating.md sh': 'test/commands/documents.test.ts',
  'docs/store-care.md console': 'test/commands/documents.test.ts',
  'docs/time.md console': 'test/commands/documents.test.ts',
  'docs/time.md sh': 'test/docs/by-hand.process.test.ts',
};

/** Returns the text of a page without its blocks. */
const proseOf = (page: string): string => readPage(page).replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');

/** Code within sentences that begins with the program, without what a reader fills in. */
const mentions = (page: string): readonly string[] =>
  [...proseOf(page).matchAll(/`([^`\n]*)`/g)]
    .map(([, code = '']) => code.replaceAll(/ \[[A-Z]+\]| …(?=;|$)|^COMMAND .*/g, ''))
    .filter((code) => !/perdure COMMAND|\| start also/.test(code));

test('the program knows the commands and flags of every command line in a block', async () => {
  const lines = pages.flatMap((page) =>
    blocksOf(page).flatMap((block) =>
      typedLines(block)
        .filter((line) => !line.endsWith('perdure …'))
        .flatMap(commandLines)
        .map((args) => ({ page, args })),
    ),
  );
  expect(lines.length).toBeGreaterThan(20);
  for (const { page, args } of lines) expect([page, args, await problemOf(args)]).toEqual([page, args, null]);
});

test('the program knows the commands and flags of every command line within a sentence', async () => {
  const lines = pages.flatMap((page) =>
    mentions(page)
      .flatMap(commandLines)
      .map((args) => ({ page, args })),
  );
  expect(lines.length).toBeGreaterThan(100);
  for (const { page, args } of lines)
    expect([page, args, await problemOf(args, { isMention: true })]).toEqual([page, args, null]);
});

test.each([
  [['lst'], "unknown command 'lst'"],
  [['list', '--jsno'], "unknown option '--jsno'"],
  [['schedule', 'update'], "missing required argument 'name'"],
])('a command line that the program would refuse is found: %j', async (args, problem) => {
  expect(await problemOf(args)).toContain(problem);
});

test('commands stand in blocks of a shell, not in indented text or a block without a language', () => {
  const outside = pages.flatMap((page) => [
    ...[...proseOf(page).matchAll(/^ {4,}(?:[A-Z_]+=\S+ )*(?:npx |npm |perdure |export |curl ).*$/gm)].map(([line]) => [
      page,
      line,
    ]),
    ...blocksOf(page)
      .filter(({ language, code }) => language === '' && /^(?:\$ |npx |npm |perdure )/m.test(code))
      .map(({ line }) => [page, line]),
  ]);
  expect(outside).toEqual([]);
});

test('each block of commands is run by a test, or the line before says why it is not run', () => {
  const left = new Set<string>();
  for (const page of pages) for (const { language } of shellBlocks(page)) left.add(`${page} ${language}`);
  expect([...left].toSorted()).toEqual(Object.keys(RUN_BY).toSorted());
  for (const [key, path] of Object.entries(RUN_BY)) {
    const [page = ''] = key.split(' ');
    expect([key, readPage(path).includes(`shellBlocks('${page}'`)]).toEqual([key, true]);
  }
});
