// A process of the workspace that swaps a folder for a link elsewhere, again and again, while files
// go back: nothing is written, deleted or made where the link leads (T7).
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { lstatSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { runGitHeld } from '../../activities/snapshots/run-git-held.ts';
import { restore } from '../../store/snapshots/restore.ts';
import { placeOfRoot } from '../../store/snapshots/shadow.ts';
import { compareSnapshots, DEFAULT_CAPS, takeSnapshot } from '../../store/snapshots/take-snapshot.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { tempFolder } from '../tools/support.ts';

const session = 's-1' as SessionId;
const { signal } = new AbortController();
const ROUNDS = 12;

/** Names that the shadow repository has, too. */
const NAMES = ['config', 'HEAD', 'info/attributes', 'refs/heads/x', 'hooks/x', 'objects/info/alternates', 'empty/x'];

const SWAP = `
  const fs = require('node:fs');
  const [, target] = process.argv;
  const attempt = (work) => { try { work(); } catch {} };
  console.log('began');
  const swap = () => {
    attempt(() => fs.renameSync('d', 'away'));
    attempt(() => fs.symlinkSync(target, 'd'));
    for (let at = 0; at < 200; at += 1) attempt(() => fs.readlinkSync('d'));
    if (attempt(() => fs.unlinkSync('d')), fs.existsSync('away')) attempt(() => fs.rmSync('d', { recursive: true }));
    attempt(() => fs.renameSync('away', 'd'));
    setImmediate(swap);
  };
  swap();
`;

/** All that lies in a folder, but for the sessions' own: names, places on the disk, times, contents. */
function look(folder: string): string {
  const left = '-path ./sessions -prune -o -path ./incoming -prune -o';
  const script = `find . ${left} -printf '%y %p %i %m %s %T@ %l\\n' | sort; find . ${left} -type f -print0 | sort -z | xargs -0 -r sha256sum`;
  return String(spawnSync('bash', ['-c', script], { cwd: folder }).stdout);
}

async function openAttacked(kind: 'bwrap' | 'group') {
  const sandbox = await probeSandbox({ kinds: [kind, 'group'] });
  const [root, dataDir, victim] = [tempFolder(), join(tempFolder(), 'data'), tempFolder()];
  mkdirSync(dataDir);
  const options = { sandbox, dataDir };
  const place = placeOfRoot(dataDir, session, root);
  const means = { place, git: sandbox.programs.at('git'), run: runGitHeld(options, signal), caps: DEFAULT_CAPS };
  const put = (folder: string, text: string) => {
    for (const name of NAMES) {
      mkdirSync(join(folder, name, '..'), { recursive: true });
      writeFileSync(join(folder, name), text);
    }
  };
  put(victim, 'of someone else\n');
  put(join(root, 'd'), 'old\n');
  const { id: old } = await takeSnapshot(means, null);
  put(join(root, 'd'), 'new\n');
  const { id: changed } = await takeSnapshot(means, null);
  rmSync(join(root, 'd'), { recursive: true });
  mkdirSync(join(root, 'd', 'other'), { recursive: true });
  const { id: none } = await takeSnapshot(means, null);
  return { means, root, victim, ids: [old, changed, none] as const };
}

test.each([
  ['bwrap', 'the snapshots'],
  ['group', 'the snapshots'],
  ['bwrap', 'a folder'],
  ['group', 'a folder'],
] as const)(
  'a folder that is swapped for a link again and again leads no restore elsewhere: %s, to %s (T7)',
  async (kind, to) => {
    const { means, root, victim, ids } = await openAttacked(kind);
    const target = to === 'a folder' ? victim : means.place.gitDir;
    const [old, changed, none] = ids;
    const ways = [
      [none, old],
      [old, changed],
      [changed, none],
    ] as const;
    const lists = await Promise.all(ways.map(([from, id]) => compareSnapshots(means, from, id)));
    const before = look(target);
    const swapping = spawn(process.execPath, ['-e', SWAP, target], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
    await once(swapping.stdout, 'data');
    for (let round = 0; round < ROUNDS; round += 1)
      // It is refused where it meets the link.
      await restore(means, {
        now: ways[round % 3]?.[0] ?? '',
        known: ways[round % 3]?.[0] ?? '',
        to: ways[round % 3]?.[1] ?? '',
        changes: lists[round % 3] ?? [],
      }).catch((error: unknown) => expect(error).toBeInstanceOf(Error));
    swapping.kill('SIGKILL');
    await once(swapping, 'close');
    expect(look(target)).toBe(before);
  },
);

test('nothing is deleted or made where a link leads that is in the place of a folder (T7)', async () => {
  const { means, root, victim, ids } = await openAttacked('group');
  const [old, changed, none] = ids;
  for (const target of [victim, means.place.gitDir]) {
    const before = look(target);
    rmSync(join(root, 'd'), { recursive: true });
    symlinkSync(target, join(root, 'd'));
    await restore(means, {
      now: changed,
      known: changed,
      to: none,
      changes: await compareSnapshots(means, changed, none),
    }).catch(() => undefined);
    await expect(
      restore(means, { now: old, known: old, to: changed, changes: await compareSnapshots(means, old, changed) }),
    ).rejects.toThrow('d is in the way');
    expect(lstatSync(join(root, 'd')).isSymbolicLink()).toBe(true);
    expect(look(target)).toBe(before);
  }
});

test('what restores files may write to the restored folder and the session’s own, and to nothing else (T7)', async ({
  skip,
}) => {
  const { means, root, victim } = await openAttacked('bwrap');
  const { gitDir, own } = means.place;
  const sandbox = await probeSandbox({ kinds: ['bwrap', 'group'] });
  skip(sandbox.kind !== 'bwrap', 'needs bubblewrap');
  const script = 'for folder; do touch "$folder/written" 2>/dev/null && echo "$folder"; done; cat "$1/config"';
  const folders = [gitDir, join(gitDir, 'objects'), victim, '/tmp', join(gitDir, '..'), root, own];
  const argv = ['sh', '-c', script, 'sh', ...folders];
  const printed = await means.run(argv, { env: {}, cwd: own, writes: root });
  expect(printed).toBe(`${root}\n${own}\n${readFileSync(join(gitDir, 'config'), 'utf8')}`);
});
