// Who starts programs: the one process that ends what it has started when its worker is killed
// (spawner.ts). What a worker starts by itself is not found by anybody while its sandbox is being
// set up.
import { expect, test } from 'vitest';
import { sourcesNaming } from '../../support/sources.ts';

/** Those that may, and why nothing of theirs is left when they are killed, or may be. */
const starters: Readonly<Record<string, string>> = {
  'system/process/spawner.ts': 'starts the process that starts programs, which ends with the worker',
  'system/process/spawner-process.mjs': 'is that process',
  'system/process/identity.ts': 'asks ps and the like, which look once and end',
  'tools/builtin/files/keep-attributes.ts': 'cp of attributes, which ends at once: it needs a folder that is open here',
  'cli/typing/persons-editor.ts': 'the editor on a person’s own terminal',
  'worker/embedded/find-binary.ts': 'asks a Temporal server for its version, which tells it and ends',
  'worker/embedded/server-record.ts': 'asks ps, which looks once and ends',
  'worker/embedded/start-server.ts': 'the Temporal server outlives who started it: others use it',
};

test('no other part of a worker or client starts a process by itself (L40 L48)', () => {
  const found = sourcesNaming(['activities', 'client', 'worker'], /['"](node:)?child_process['"]/);
  expect(found).toEqual(Object.keys(starters).toSorted());
});
