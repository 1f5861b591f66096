// Brings a folder to a snapshot, in a process confined like the commands of agents: it writes to
// that folder alone. Its argument names a file with the request, which may be long.
import { readFileSync } from 'node:fs';
import { onOneLine, reasonOf } from '../../../system/text.ts';
import { clearTemporary, restoreFolder, type RestoreAnswer, type RestoreRequest } from './restore-folder.ts';

/** `root` and `to` are there for people who list processes. */
export type RestoreLine = {
  readonly do: 'restore' | 'clear';
  readonly request: string;
  readonly root: string;
  readonly to: string;
};

const line = JSON.parse(process.argv[2] ?? '') as RestoreLine;

try {
  const request = JSON.parse(readFileSync(line.request, 'utf8')) as RestoreRequest;
  process.stdout.write(`${JSON.stringify(await answer(request))}\n`);
} catch (error) {
  process.stderr.write(`${onOneLine(reasonOf(error))}\n`);
  process.exitCode = 1;
}

async function answer(request: RestoreRequest): Promise<RestoreAnswer> {
  if (line.do === 'restore') return await restoreFolder(request);
  clearTemporary(request);
  return { kind: 'done' };
}
