// Which files the calls of a session name.
import { expect, test } from 'vitest';
import { createFileNaming } from '../../../client/sessions/files/look-at-files.ts';
import { callBlock, reply } from '../../support/transcript.ts';

test('a file is named by its path, by a folder above it, or in a command by its name (T7)', () => {
  const bash = (command: string) => callBlock('c', { command }, 'bash');
  const entries = [
    reply([
      callBlock('c', { path: 'src/a.ts' }, 'write'),
      callBlock('c', { file_path: '/other/b.ts' }, 'Edit'),
      bash('cd lib && echo x >cart.ts; rm -r old/ "it has/spaces"'),
      bash('npm run format'),
      callBlock('c', null, 'mcp'),
    ]),
  ];
  const isNamed = createFileNaming(entries, '/work');
  const named = (path: string, root = '/work') => isNamed({ root, path });
  expect(['src/a.ts', 'lib/cart.ts', 'old/deep/x'].map((path) => named(path))).toEqual([true, true, true]);
  expect(named('b.ts', '/other')).toBe(true);
  expect(['src/b.ts', 'data.db', 'lib/other.ts', 'olds/z'].map((path) => named(path))).toEqual(Array(4).fill(false));
  expect(createFileNaming([], '/work')({ root: '/work', path: 'a' })).toBe(false);
});
