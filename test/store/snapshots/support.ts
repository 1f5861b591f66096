// A folder and the means to take snapshots of it, with git run as it is on the machine.
import { spawnSync } from 'node:child_process';
import { mkdirSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { FolderCapture, type CaptureRequest, type SnapshotCaps } from '../../../store/snapshots/capture-folder.ts';
import { DEFAULT_CAPS, takeSnapshot, type RunHeld } from '../../../store/snapshots/take-snapshot.ts';
import { tempFolder } from '../../tools/support.ts';

const MOST_PRINTED = 256 * 1024 * 1024;

export const runHere: RunHeld = async (argv, { env, cwd }) => {
  const [program = '', ...args] = argv;
  const options = {
    env: { PATH: process.env['PATH'], ...env },
    cwd,
    encoding: 'latin1',
    maxBuffer: MOST_PRINTED,
  } as const;
  const { status, stdout, stderr } = spawnSync(program, args, options);
  if (status !== 0) throw new Error(stderr);
  return stdout;
};

/** `below` is the way to the folder from one that is for it alone. */
export function shadowed(caps: Partial<SnapshotCaps> = {}, below = '') {
  const root = join(realpathSync(tempFolder()), below);
  mkdirSync(root, { recursive: true });
  const place = placeOfRoot(tempFolder(), 's-1' as SessionId, root);
  const folder = new FolderCapture({ place, git: 'git' });
  onTestFinished(() => folder.close());
  const capture = (request: CaptureRequest) => folder.capture(request);
  const means = { place, git: 'git', run: runHere, caps: { ...DEFAULT_CAPS, ...caps }, capture };
  return {
    root,
    place,
    means,
    sh: (script: string): string => {
      const done = spawnSync('sh', ['-ec', script], { cwd: root, encoding: 'latin1' });
      if (done.status !== 0) throw new Error(done.stderr);
      return done.stdout;
    },
    take: (before: string | null = null, trustsWatch = false) => takeSnapshot({ ...means, trustsWatch }, before),
    /** Takes it as a process that knows nothing of the folder. */
    takeAnew: async (before: string | null = null) => {
      const other = new FolderCapture({ place: { ...place, own: tempFolder() }, git: 'git' });
      try {
        return await takeSnapshot({ ...means, capture: (request) => other.capture(request) }, before);
      } finally {
        other.close();
      }
    },
    /** Mode and path of all files of a snapshot. */
    files: async (id: string): Promise<readonly string[]> => {
      const argv = ['git', `--git-dir=${place.gitDir}`, '-c', 'core.quotePath=false', 'ls-tree', '-r', `${id}:files`];
      const lines = (await runHere(argv, { env: {}, cwd: root })).split('\n').filter(Boolean);
      return lines.map((line) => `${line.slice(0, 6)} ${line.slice(line.indexOf('\t') + 1)}`);
    },
    content: (id: string, path: string) =>
      runHere(['git', `--git-dir=${place.gitDir}`, 'cat-file', 'blob', `${id}:${path}`], { env: {}, cwd: root }),
  };
}
