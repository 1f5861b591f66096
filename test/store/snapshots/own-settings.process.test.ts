// Settings of the shadow repository that someone else has changed.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { cleanSnapshots } from '../../../client/store-care/clean-snapshots.ts';
import { packSnapshots, unpackSnapshots } from '../../../client/store-care/carry-snapshots.ts';
import { openShadowReading } from '../../../client/sessions/files/read-shadow.ts';
import { runGitHeld } from '../../../activities/snapshots/run-git-held.ts';
import { hasSnapshot, makePatch } from '../../../store/snapshots/compare.ts';
import { requireOwnSettings } from '../../../store/snapshots/shadow.ts';
import { compareSnapshots } from '../../../store/snapshots/take-snapshot.ts';
import { probeSandbox } from '../../../tools/sandbox.ts';
import type { SessionId } from '../../../workflows/contract/ids.ts';
import { tempFolder } from '../../tools/support.ts';
import { shadowed } from './support.ts';

const session = 's-1' as SessionId;

/** Has git start a program that leaves a mark, in as many ways as there are. */
function poison(gitDir: string, mark: string): void {
  const program = join(tempFolder(), 'program');
  writeFileSync(program, `#!/bin/sh\necho "$0 $*" >> ${mark}\ncat\n`, { mode: 0o755 });
  const lines = [
    ['core', 'fsmonitor', 'pager', 'sshCommand', 'alternateRefsCommand', 'gitProxy', 'editor'],
    ['gc', 'recentObjectsHook'],
    ['diff', 'external'],
    ['diff "x"', 'textconv', 'command'],
    ['filter "x"', 'clean', 'smudge', 'process'],
    ['uploadpack', 'packObjectsHook'],
    ['credential', 'helper'],
  ].map(([section, ...keys]) => `[${section}]\n${keys.map((key) => `\t${key} = ${program}\n`).join('')}`);
  const config = `[core]\n\trepositoryformatversion = 1\n\thooksPath = hooks\n[extensions]\n\tworktreeConfig = true\n`;
  writeFileSync(join(gitDir, 'config'), `${config}${lines.join('')}`);
  writeFileSync(join(gitDir, 'config.worktree'), lines.join(''));
  writeFileSync(join(gitDir, 'info', 'attributes'), '* diff=x filter=x\n');
  mkdirSync(join(gitDir, 'hooks'), { recursive: true });
  for (const name of ['reference-transaction', 'post-index-change', 'pre-auto-gc'])
    symlinkSync(program, join(gitDir, 'hooks', name));
  mkdirSync(join(gitDir, 'objects', 'info'), { recursive: true });
  writeFileSync(join(gitDir, 'objects', 'info', 'alternates'), `${tempFolder()}\n`);
}

test('whatever the settings of the shadow repository name, nothing of it is started, and they are ours again (T1 T4)', async () => {
  const { means, place, sh, take, takeAnew, root } = shadowed();
  const { gitDir } = place;
  sh('echo 1 > one');
  const first = await take();
  sh('echo 2 > one; echo two > two');
  const second = await take(first.id);
  const clean = ['config', 'info/attributes', 'HEAD'].map((name) => readFileSync(join(gitDir, name), 'utf8'));
  const mark = join(tempFolder(), 'mark');
  const dataDir = join(gitDir, '..');
  const { signal } = new AbortController();
  const held = { ...means, run: runGitHeld({ sandbox: await probeSandbox(), dataDir }, signal) };
  const env = process.env;
  const store = { id: 'store-1', isOwn: true };
  const gone = { dataDir, env, store, known: new Set<string>(), olderThan: Date.now() + 60_000, dryRun: false };
  const other = join(tempFolder(), 'data');
  const uses: readonly (() => Promise<unknown>)[] = [
    () => takeAnew(first.id),
    () => compareSnapshots(held, first.id, second.id),
    () =>
      makePatch(
        openShadowReading(dataDir, env),
        { from: first.id, to: second.id, paths: [] },
        { prefix: '', binary: true },
      ),
    () => hasSnapshot(openShadowReading(dataDir, env), first.id),
    async () => {
      const packed = await packSnapshots({ dataDir, env, session }, new Set());
      requireOwnSettings(join(other, 'snapshots'));
      poison(join(other, 'snapshots'), mark);
      if (packed) await unpackSnapshots({ dataDir: other, env, session }, packed.carried, packed.bytes);
    },
    () => cleanSnapshots(gone),
  ];
  for (const use of uses) {
    poison(gitDir, mark);
    await use();
    expect(existsSync(mark)).toBe(false);
    expect(['config', 'info/attributes', 'HEAD'].map((name) => readFileSync(join(gitDir, name), 'utf8'))).toEqual(
      clean,
    );
    for (const name of ['config.worktree', 'hooks', 'objects/info/alternates'])
      expect(existsSync(join(gitDir, name))).toBe(false);
  }
  expect(root).toBe(place.root);
});

test('settings that are a link elsewhere are replaced, and what they lead to stays (T1)', async () => {
  const { place, sh, take } = shadowed();
  const { gitDir } = place;
  sh('echo 1 > one');
  await take();
  const outside = tempFolder();
  for (const name of ['config', 'attributes']) writeFileSync(join(outside, name), 'theirs\n');
  rmSync(join(gitDir, 'config'));
  symlinkSync(join(outside, 'config'), join(gitDir, 'config'));
  rmSync(join(gitDir, 'info'), { recursive: true });
  symlinkSync(outside, join(gitDir, 'info'));
  requireOwnSettings(gitDir);
  expect(['config', 'attributes'].map((name) => readFileSync(join(outside, name), 'utf8'))).toEqual([
    'theirs\n',
    'theirs\n',
  ]);
  expect(String(spawnSync('git', [`--git-dir=${gitDir}`, 'rev-parse', '--is-bare-repository']).stdout)).toBe('true\n');
  expect(readFileSync(join(gitDir, 'info', 'attributes'), 'utf8')).toContain('-filter');
});
