// Folders for temporary files belong to everybody: a command of an agent writes there, and another user may have come first. So nothing that
// is read as a person's words, or run, lies in one.
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');

/** Those that name them, and why nothing of theirs is trusted later. */
const named: Readonly<Record<string, string>> = {
  'activities/hooks/run-command.ts': 'a hook without a workspace begins there; what it finds there is its own affair',
  'activities/process/places.ts': 'says where commands write',
  'activities/process/programs.ts': 'says where no program is taken from',
  'activities/process/spawn-tree.ts': 'pipes of programs that start before there is a data folder, no agent among them',
  'client/testing/environment.ts': 'a folder of a program’s own tests, which is its owner’s alone',
  'client/testing/run-in-memory.ts': 'the same',
};

test('no other part of the product keeps anything in a folder for temporary files (L55)', () => {
  const files = ['activities', 'bin', 'client', 'worker', 'workflows'].flatMap((top) =>
    readdirSync(join(root, top), { recursive: true, encoding: 'utf8' }).map((name) => join(top, name)),
  );
  const found = files
    .filter((file) => /\.(tsx?|mjs)$/.test(file))
    .filter((file) => /tmpdir|TMPDIR|enableCompileCache\?\.\(\)/.test(readFileSync(join(root, file), 'utf8')))
    .filter((file) => file !== 'activities/process/environment.ts');
  expect(found.toSorted()).toEqual(Object.keys(named).toSorted());
});
