// A workspace that becomes another folder between two runs of a session, and one that holds
// Perdure's data.
import { mkdirSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { reply } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { tempDir } from '../support/temp-dir.ts';

const hello = [reply('hello')];
const script = [...hello, ...hello, ...hello];

test('a workspace that was redirected by a link, or replaced, is refused until it is given again (L57)', async () => {
  const { open } = await harness({ script });
  const parent = tempDir();
  const [cwd, elsewhere] = [join(parent, 'workspace'), join(parent, 'elsewhere')];
  for (const folder of [cwd, elsewhere]) mkdirSync(folder);
  const session = await open('one', { cwd });
  expect((await session.ended(1)).terminal.reason).toBe('completed');
  renameSync(cwd, join(parent, 'moved'));
  symlinkSync(elsewhere, cwd);
  await session.send('two');
  expect((await session.ended(2)).terminal).toMatchObject({
    reason: 'model_error',
    detail: expect.stringContaining(`it leads to ${elsewhere}): if that is meant, give it again with --cwd`),
  });
  renameSync(cwd, join(parent, 'link'));
  mkdirSync(cwd);
  await session.send('three');
  expect((await session.ended(3)).terminal).toMatchObject({ detail: expect.stringContaining('replaced by another') });
  await session.send('four', { options: { cwd } });
  expect((await session.ended(4)).terminal.reason).toBe('completed');
  await session.send('five');
  expect((await session.ended(5)).terminal.reason).toBe('completed');
});

test('a workspace that holds the data folder, or lies in it, is refused with a sentence (L57)', async () => {
  const root = tempDir();
  const dataDir = join(root, 'a/b/data');
  mkdirSync(join(dataDir, 'inside'), { recursive: true });
  const { open } = await harness({ script, worker: { dataDir } });
  const holding = await open('one', { cwd: root });
  expect((await holding.ended(1)).terminal).toMatchObject({
    detail: expect.stringContaining("holds Perdure's data folder"),
  });
  const inside = await open('one', { cwd: join(dataDir, 'inside') });
  expect((await inside.ended(1)).terminal).toMatchObject({
    detail: expect.stringContaining("lies in Perdure's data folder"),
  });
});
