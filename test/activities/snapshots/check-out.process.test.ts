// Files of a fork that cannot be checked out.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import type { Attempt } from '../../../activities/attempt.ts';
import { checkOutRoot } from '../../../activities/snapshots/check-out.ts';
import { runGitHeld } from '../../../activities/snapshots/run-git-held.ts';
import { placeOfRoot } from '../../../store/snapshots/shadow.ts';
import { DEFAULT_CAPS, takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { tempFolder } from '../../tools/support.ts';

const session = 's-1' as SessionId;
const { signal } = new AbortController();

async function openForked() {
  const sandbox = await probeSandbox({ kinds: ['group'] });
  const [root, above, dataDir] = [tempFolder(), tempFolder(), join(tempFolder(), 'data')];
  mkdirSync(dataDir);
  const options = { sandbox, dataDir };
  const place = placeOfRoot(dataDir, session, root);
  writeFileSync(join(root, 'a'), 'a\n');
  writeFileSync(join(root, 'b'), 'b\n');
  spawnSync('sh', ['-ec', 'git init -q && git -c user.name=a -c user.email=b commit -q --allow-empty -m one'], {
    cwd: root,
  });
  const means = { place, git: 'git', run: runGitHeld(options, signal), caps: DEFAULT_CAPS };
  const { id: snapshot } = await takeSnapshot(means, null);
  const { stdout } = spawnSync('git', ['hash-object', '--stdin'], { input: 'b\n', encoding: 'utf8' });
  const hash = stdout.trim();
  const damage = () => {
    const object = join(place.gitDir, 'objects', hash.slice(0, 2), hash.slice(2));
    rmSync(object);
    writeFileSync(object, 'damaged');
  };
  const attempt = { session: 's-2', signal, fence: () => Promise.resolve(true) } as unknown as Attempt;
  const about = { from: root, to: join(above, 'fork'), snapshot, step: 1, attempt };
  return { options, above, about, damage, hash };
}

test('a fork whose files are damaged is refused with the sentence of git, and leaves no folder (T10)', async () => {
  const { options, above, about, damage, hash } = await openForked();
  damage();
  const refused = { kind: 'refused', problem: expect.stringContaining(hash) as string };
  expect(await checkOutRoot(options, about)).toMatchObject(refused);
  expect(readdirSync(above)).toEqual([]);
  expect(await checkOutRoot(options, { ...about, worktree: true })).toMatchObject(refused);
  expect(existsSync(about.to)).toBe(false);
});
