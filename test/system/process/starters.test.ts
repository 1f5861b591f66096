// Programs are started by one process, which ends them when its worker is killed (spawner.ts). A
// program that a worker starts by itself cannot be found while its sandbox is being set up.
import { expect, test } from 'vitest';
import { TOPS } from '../../docs/house-report.mjs';
import { sourcesNaming } from '../../support/sources.ts';

/** The files that may start programs, and why these may outlive a kill, or cannot. */
const starters: Readonly<Record<string, string>> = {
  'system/process/spawner.ts': 'starts the process that starts programs, which ends with the worker',
  'system/process/spawner-process.mjs': 'is that process',
  'system/process/identity.ts': 'asks ps and the like, which look once and end',
  'system/process/keep-attributes.ts': 'cp of attributes, which ends at once: it needs a folder that is open here',
  'cli/chat/shell-line.ts': 'a person’s own command, which an interrupt ends with all it started',
  'cli/chat/completion-sources.ts': 'ripgrep, which looks once and is ended after seconds',
  'cli/open-page.ts': 'the browser on a person’s own screen, which outlives the command',
  'cli/typing/persons-editor.ts': 'the editor on a person’s own terminal',
  'store/snapshots/compare.ts': 'git in a process that is itself held as commands are, and ends with it',
  'store/snapshots/restore/blob-stream.ts': 'git in a process that is itself held as commands are, and ends with it',
  'store/snapshots/ask-repository.ts':
    'git in a process that is held as commands are, which answers one question and ends',
  'store/snapshots/git-objects.ts': 'git in that same process',
  'worker/embedded/find-binary.ts': 'asks a Temporal server for its version, which tells it and ends',
  'worker/embedded/server-record.ts': 'asks ps, which looks once and ends',
  'worker/embedded/start-server.ts': 'the Temporal server outlives who started it: others use it',
  'worker/embedded/start-watch.ts': 'ends that server when nobody uses it any more, and ends with it',
};

test('no other part of a worker or client starts a process by itself (L40 L48)', () => {
  const found = sourcesNaming(TOPS, /['"](node:)?child_process['"]/);
  expect(found).toEqual(Object.keys(starters).toSorted());
});
