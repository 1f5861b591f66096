// The commands by which docs/time.md gets files out of snapshots, run as they stand there.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { packShadow } from '../../store/snapshots/pack-shadow.ts';
import { shellBlocks } from '../support/documents.ts';
import { shadowed, runHere } from '../store/snapshots/support.ts';
import { tempFolder } from '../tools/support.ts';

test('files are got out of snapshots by the commands of the documentation, with git alone (T4)', async () => {
  const { root, place, sh, take } = shadowed();
  sh("printf 'notes.txt export-ignore\\n*.txt eol=crlf\\n' > .gitattributes && echo first > notes.txt && mkdir a");
  sh("echo kept > 'a/odd name' && ln -s notes.txt link && echo '#!' > run && chmod +x run");
  const first = await take();
  sh('rm -r a && echo second > notes.txt');
  await take(first.id);
  const [script = '', ...more] = shellBlocks('docs/time.md').flatMap(({ language, code }) =>
    language === 'sh' ? [code] : [],
  );
  expect(more).toEqual([]);
  const into = join(tempFolder(), 'into');
  const data = join(place.gitDir, '..');
  const env = { PATH: process.env['PATH'], HOME: tempFolder(), data, session: 's-1', root, into };
  const ran = spawnSync('sh', ['-ec', script], { env, encoding: 'utf8' });
  expect([ran.status, ran.stderr]).toEqual([0, '']);
  expect(ran.stdout).toContain(`${place.ref}\n`);
  expect(ran.stdout.match(/^[0-9a-f]{40} \d{4}-\S+ snapshot/gm)).toHaveLength(2);
  expect(ran.stdout).toContain('2 files changed');
  expect(ran.stdout).toContain('second\n');
  const look = spawnSync('sh', ['-ec', 'cat notes.txt "a/odd name" link && test -x run && ls -A'], {
    cwd: into,
    encoding: 'utf8',
  });
  expect(look.stdout).toBe('first\nkept\nfirst\n.gitattributes\na\nlink\nnotes.txt\nrun\n');
  // The repository is as it was, and is read in the same way once it is packed.
  const git = (argv: readonly string[]) => runHere(argv, { env: {}, cwd: place.gitDir });
  await packShadow({ gitDir: place.gitDir, git: 'git', run: git }, { loose: 0, packs: 1 });
  const again = spawnSync('sh', ['-ec', script], { env: { ...env, into: `${into}-2` }, encoding: 'utf8' });
  expect([again.status, again.stdout]).toEqual([0, ran.stdout]);
});
