// Folders for temporary files are open to all: a command of an agent writes there, and another user
// may have come first. So nothing that is read as a person's words, or run, lies in one.
import { expect, test } from 'vitest';
import { TOPS } from '../../docs/house-report.mjs';
import { sourcesNaming } from '../../support/sources.ts';

/** The files that name such folders, and why their contents are not trusted later. */
const named: Readonly<Record<string, string>> = {
  'system/process/environment.ts': 'gives TMPDIR on to commands, for what is theirs',
  'system/process/places.ts': 'says where commands write',
  'system/process/programs.ts': 'says where no program is taken from',
  'system/process/pipes.ts': 'pipes of programs that start before there is a data folder, no agent among them',
  'client/testing/environment.ts': 'a folder of a program’s own tests, which is its owner’s alone',
  'client/testing/run-in-memory.ts': 'the same',
};

test('no other part of the product keeps anything in a folder for temporary files (L55)', () => {
  const found = sourcesNaming(['bin', ...TOPS], /tmpdir|TMPDIR|enableCompileCache\?\.\(\)/);
  expect(found).toEqual(Object.keys(named).toSorted());
});
