// The session that an id or the beginning of one means.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { sessionMeant } from '../../cli/arguments.ts';
import { mediaBlocks, withMedia } from '../../cli/prompt-argument.ts';
import type { Cli } from '../../cli/cli.ts';
import { ClientProblem } from '../../client/problem.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { jpegOf, pdfOf } from '../support/images.ts';
import { tempDir } from '../support/temp-dir.ts';
import { description } from '../client/support.ts';

const there = ['s-aaaaaaaaa1', 's-aaaaaaaaa2', 's-bbbbbbbbb1', 'nightly', 'nightly-2'];

function meant(given: string) {
  const queries: string[] = [];
  const list = async function* ({ query }: { readonly query: string }) {
    queries.push(query);
    const [, begin = ''] = /STARTS_WITH '(.*)'/.exec(query) ?? [];
    // A session that was handed over has an execution for each part.
    for (const workflowId of there.filter((id) => id.startsWith(begin))) yield* [{ workflowId }, { workflowId }];
    await Promise.resolve();
  };
  const describe = (id: string) =>
    there.includes(id) ? Promise.resolve(description({})) : Promise.reject(new ClientProblem('no_session', 'none'));
  const opened = { temporal: { client: { workflow: { list } } }, sessions: { describe } };
  return {
    queries,
    session: sessionMeant(opened as unknown as Parameters<typeof sessionMeant>[0], given as SessionId),
  };
}

test('a whole id, and one that people chose, is the session itself; else the only one that begins so (O20)', async () => {
  const whole = meant('s-ccccccccc1');
  expect([await whole.session, whole.queries]).toEqual(['s-ccccccccc1', []]);
  expect(await meant('nightly').session).toBe('nightly');
  expect(await meant('s-b').session).toBe('s-bbbbbbbbb1');
  expect(await meant('s-x').session).toBe('s-x');
});

test('where several begin so, they are named (O20)', async () => {
  await expect(meant('s-a').session).rejects.toThrow(
    'several sessions begin with s-a: s-aaaaaaaaa1, s-aaaaaaaaa2; write more of it',
  );
});

test('--image gives files as the images and documents that their bytes say they are, before the text (L85)', () => {
  const cwd = tempDir();
  const cli = { cwd: () => cwd } as Cli;
  writeFileSync(join(cwd, 'a.png'), jpegOf(2, 3));
  writeFileSync(join(cwd, 'b.png'), 'no image');
  mkdirSync(join(cwd, 'c.png'));
  writeFileSync(join(cwd, 'e'), pdfOf(2));
  writeFileSync(join(cwd, 'f'), pdfOf(101));
  const media = mediaBlocks(cli, { image: ['a.png', 'e'] });
  const source = { type: 'base64', media_type: 'image/jpeg', data: jpegOf(2, 3).toString('base64') };
  const page = { type: 'base64', media_type: 'application/pdf', data: pdfOf(2).toString('base64') };
  expect(withMedia('Look', media)).toEqual([
    { type: 'image', source },
    { type: 'document', source: page },
    { type: 'text', text: 'Look' },
  ]);
  expect(withMedia('Look', mediaBlocks(cli, {}))).toBe('Look');
  expect(() => mediaBlocks(cli, { image: ['b.png'] })).toThrow('is nothing that the model is shown');
  expect(() => mediaBlocks(cli, { image: ['f'] })).toThrow('f is application/pdf of 101 pages');
  expect(() => mediaBlocks(cli, { image: ['c.png'] })).toThrow('is not a file');
  expect(() => mediaBlocks(cli, { image: ['d.png'] })).toThrow('d.png does not exist: name another');
});
