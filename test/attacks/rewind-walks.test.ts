// Random walks of a folder through changes, snapshots and restores, held against a copy of it that
// a plain model keeps (T2, T7). WALKS and SEED choose others than those of CI.
import { spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { previewRestore } from '../../store/snapshots/preview-restore.ts';
import { checkOut, restore } from '../../store/snapshots/restore.ts';
import { random as randomFrom, type Random } from '../support/random.ts';
import { shadowed } from '../store/snapshots/support.ts';

const WALKS = Number(process.env['WALKS'] ?? 40);
const SEED = Number(process.env['SEED'] ?? 20_261_127);
const STEPS = 7;

type Shadowed = ReturnType<typeof shadowed>;

/** All that a snapshot must bring back: type, mode and content of all that is not ignored. */
function look(root: string): string {
  const left = `-path ./.git -prune -o -path ./ignored -prune -o`;
  const script = `find . ${left} \\( -type f -o -type l \\) -printf '%y %#m %p %l\\n' | sort; find . ${left} -type f -print0 | sort -z | xargs -0 -r sha256sum`;
  return run(root, script);
}

function run(cwd: string, script: string): string {
  const env = { PATH: process.env['PATH'], HOME: cwd, LC_ALL: 'C', GIT_CONFIG_GLOBAL: '/dev/null' };
  const { status, stdout, stderr } = spawnSync('bash', ['-ec', script], { cwd, encoding: 'latin1', env });
  if (status !== 0) throw new Error(stderr);
  return stdout;
}

const NAMES: readonly [string, ...string[]] = [
  'a',
  'b',
  'dir/a',
  'dir/b',
  'dir/deep/er/a',
  '-rf',
  'sp ace',
  "quo'te",
  'new\\nline',
  '\\377odd',
  'é',
  '*',
  '.dot',
];

/** A change that an agent or a person may make, as a line of bash. */
function makeChange({ pick, nat }: Random): string {
  const name = `$'${pick(NAMES).replaceAll("'", "\\'")}'`;
  const ready = `rm -rf -- ./${name}; mkdir -p -- "$(dirname -- ./${name})" 2>/dev/null || { rm -rf -- "$(dirname -- ./${name})"; mkdir -p -- "$(dirname -- ./${name})"; }`;
  const text = String(nat(1e9));
  return pick([
    `${ready}; printf '%s\\n' ${text} > ./${name}`,
    `${ready}; printf '\\r\\n%s\\0\\377' ${text} > ./${name}`,
    `${ready}; head -c ${nat(200_000)} /dev/zero > ./${name}`,
    `${ready}; ln -s -- ${pick(['a', '/etc/passwd', '..', 'nowhere', '.'])} ./${name}`,
    `${ready}; mkdir -- ./${name}; printf x > ./${name}/inside`,
    `[ -f ./${name} ] && [ ! -L ./${name} ] && chmod ${pick(['755', '644'])} -- ./${name} || :`,
    `[ -f ./${name} ] && [ ! -L ./${name} ] && printf more >> ./${name} || :`,
    `rm -rf -- ./${name}`,
    `rm -rf dir; mkdir -p dir/empty`,
    `[ -d dir ] && [ ! -L dir ] && mv dir moved-${text} || :`,
  ]);
}

async function restoreTo({ means, take }: Shadowed, to: string): Promise<void> {
  const { id: now } = await take();
  const { changes } = await previewRestore(means, { known: now, now, to, force: false });
  await restore(means, { now, known: now, to, changes });
}

test.each(Array.from({ length: WALKS }, (_, walk) => SEED + walk))(
  'a folder goes back and forth byte for byte, and nothing ignored nor of git is touched: walk %d',
  async (seed) => {
    const random = randomFrom(seed);
    const folder = shadowed();
    const { root, take } = folder;
    run(
      root,
      `git init -q . && echo ignored/ > .gitignore && mkdir ignored && echo i > ignored/i && git add .gitignore && git -c user.name=a -c user.email=a@b commit -qm one`,
    );
    const untouched = `cat ignored/i; git rev-parse HEAD; git ls-files -s; sha256sum .git/HEAD .git/config`;
    const before = run(root, untouched);
    const points: { readonly id: string; readonly looks: string }[] = [];
    for (let step = 0; step < STEPS; step += 1) {
      const changes = Array.from({ length: 1 + random.nat(3) }, () => makeChange(random));
      run(root, changes.join('\n'));
      const { id } = await take(points.at(-1)?.id ?? null, random.nat(3) > 0);
      points.push({ id, looks: look(root) });
      const back = points[random.nat(points.length - 1)];
      if (back && random.bool()) {
        await restoreTo(folder, back.id);
        expect(look(root)).toBe(back.looks);
      }
    }
    for (const { id, looks } of points.toReversed()) {
      await restoreTo(folder, id);
      expect(look(root)).toBe(looks);
    }
    // A fork has the files of its point, and nothing that is ignored (T10).
    const { id, looks } = random.pick(points as [(typeof points)[number]]);
    const copy = `${root}-fork`;
    run(root, `mkdir ${JSON.stringify(copy)}`);
    await checkOut(folder.means, id, copy);
    expect(look(copy)).toBe(looks);
    expect(run(copy, 'ls -a')).not.toMatch(/^(?:ignored|[.]git)$/m);
    expect(run(root, untouched)).toBe(before);
  },
);
