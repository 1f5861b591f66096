// Rules of a repository that lie outside of the captured folder, held against git's own answers (T2).
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { takeSnapshot } from '../../../store/snapshots/take-snapshot.ts';
import { shadowed } from './support.ts';

const GIT = 'GIT_CONFIG_GLOBAL=/dev/null git -c user.name=n -c user.email=e';

type Shadowed = ReturnType<typeof shadowed>;

async function expectAsGit({ sh, take, files }: Shadowed, more = ''): Promise<readonly string[]> {
  const held = (await files((await take()).id)).map((line) => line.slice('100644 '.length));
  const list = `${GIT} ${more} -c core.quotePath=false ls-files -co --exclude-standard`;
  const listed = sh(list).split('\n').filter(Boolean);
  expect(held.toSorted()).toEqual(listed.toSorted());
  return held;
}

test('what a repository ignores above the captured folder is not captured, and a change of it counts (T2)', async () => {
  const folder = shadowed({}, 'repo/packages/app');
  const { sh } = folder;
  sh(`
    (cd ../.. && git init -q . && printf 'node_modules/\n.env\n/packages/app/dist\n/src\npackages/*/*.tmp\n' > .gitignore)
    printf 'secret.txt\nkept.log\n/top\n' > ../../.git/info/exclude && printf '*.log\n!app/kept.log\n/lib\n' > ../.gitignore
    mkdir -p node_modules/x dist src lib top deep/node_modules && printf '!deep/.env\n' > .gitignore
    for name in node_modules/x/i.js .env secret.txt a.log kept.log dist/d src/c lib/l top/t deep/.env deep/secret.txt a.tmp deep/b.tmp
    do echo x > $name; done
  `);
  const held = await expectAsGit(folder);
  expect(held).toEqual(['.gitignore', 'deep/.env', 'deep/b.tmp', 'kept.log', 'lib/l', 'src/c', 'top/t']);
  sh("printf 'new\\n' >> ../../.gitignore && printf 'later\\n' >> ../../.git/info/exclude && touch new later other");
  expect(await expectAsGit(folder)).toEqual([...held.slice(0, 5), 'other', ...held.slice(5)]);
});

test('what a person ignores everywhere is the weakest rule of each repository, and a change of it counts (T2)', async () => {
  const plain = shadowed({}, 'repo/app');
  const { sh, means, place } = plain;
  const personal = join(place.gitDir, 'personal');
  mkdirSync(place.gitDir, { recursive: true });
  const take = (before: string | null = null) =>
    takeSnapshot(
      {
        ...means,
        personal: async () => ({ rules: await readFile(personal, 'latin1'), ignoresCase: false }),
        trustsWatch: true,
      },
      before,
    );
  const folder = { ...plain, take };
  writeFileSync(personal, '*.swp\n.env\n/app/notes\n/build/\n');
  sh(`
    (cd .. && git init -q . && printf '!kept.swp\n' > .git/info/exclude) && printf '!.env\n' > .gitignore
    touch a.swp kept.swp .env notes seen && mkdir build deep && touch build/x deep/b.swp deep/notes
  `);
  const given = `-c core.excludesFile=${personal}`;
  expect(await expectAsGit(folder, given)).toEqual(['.env', '.gitignore', 'build/x', 'deep/notes', 'kept.swp', 'seen']);
  sh('mkdir nested && cd nested && git init -q . && mkdir app && touch app/notes n.swp own');
  expect((await plain.files((await take()).id)).filter((line) => line.includes('nested'))).toEqual([
    '100644 nested/own',
  ]);
  sh('rm -r nested');
  writeFileSync(personal, 'new\n');
  sh('touch new c.swp');
  expect(await expectAsGit(folder, given)).not.toContain('new');
});

test('a work tree, a submodule and a repository in a folder have the exclusions of their own repository (T2)', async () => {
  const folder = shadowed({}, 'tree/below');
  const { sh, take, files } = folder;
  sh(`
    rm -r ../../tree && mkdir ../../main && cd ../../main && git init -q . && echo hidden > .gitignore && git add -A && ${GIT} commit -qm one
    git worktree add -q ../tree && echo secret > .git/info/exclude && mkdir ../tree/below && cd ../tree/below
    touch hidden secret seen
  `);
  expect(await expectAsGit(folder)).toEqual(['seen']);
  sh(`
    mkdir nested && cd nested && git init -q --separate-git-dir ../../../apart . && echo /own > ../../../apart/info/exclude
    mkdir deep && touch own deep/own hidden secret
  `);
  const { id } = await take();
  expect(await files(id)).toEqual(
    ['deep/own', 'hidden', 'secret'].map((name) => `100644 nested/${name}`).concat('100644 seen'),
  );
});

test('in a folder that is ignored itself, the other rules of the repository hold (T2)', async () => {
  const folder = shadowed({}, 'repo/tmp/work');
  folder.sh(
    "(cd ../.. && git init -q . && printf '*\\n.env\\n/tmp/\\n*.log\\n' > .gitignore) && touch .env a.log seen",
  );
  const { id } = await folder.take();
  expect(await folder.files(id)).toEqual(['100644 seen']);
});

test('rules that are a link, a pipe or very long hold nothing up and lead nowhere (T2)', async () => {
  const folder = shadowed({}, 'repo/a/b');
  const { sh, take, files } = folder;
  sh(`
    (cd ../.. && git init -q . && echo seen > rules && ln -s rules .gitignore && rm .git/info/exclude && mkfifo .git/info/exclude)
    yes '# nothing' | head -c 1048570 > ../.gitignore && printf '\nseenandmore\n' >> ../.gitignore && echo hidden > .gitignore
    touch seen seenand hidden
  `);
  expect(await files((await take()).id)).toEqual(['.gitignore', 'seen', 'seenand'].map((name) => `100644 ${name}`));
});

const CASE_SETTINGS = [
  { what: 'its configuration', on: 'git config core.ignoreCase TRUE', off: 'git config core.ignoreCase no' },
  {
    what: 'a key without a value',
    on: "printf '[core]\\nIgnoreCase\\n' >> .git/config",
    off: 'git config core.ignoreCase 0',
  },
  {
    what: 'a configuration that it includes',
    on: 'git config include.path ../../more && git config -f ../more core.ignoreCase true',
    off: 'git config -f ../more --unset core.ignoreCase',
  },
  {
    what: 'one that it includes on a branch',
    on: 'git checkout -q -b mac && git config -f .git/mac core.ignoreCase 1 && git config includeIf.onbranch:mac.path mac',
    off: 'git checkout -q -b other',
  },
  {
    what: 'the configuration of the work tree',
    on: 'git config extensions.worktreeConfig true && git config --worktree core.ignoreCase on',
    off: 'git config --worktree core.ignoreCase off',
  },
  {
    what: 'a link to a configuration',
    on: 'mv .git/config ../real && ln -s ../../real .git/config && git config -f ../real core.ignoreCase true',
    off: 'git config -f ../real core.ignoreCase false',
  },
] as const;

test.each(CASE_SETTINGS)('rules ignore case where $what says so, until it no longer does (T2)', async ({ on, off }) => {
  const folder = shadowed({}, 'repo');
  const { sh } = folder;
  const held = async () => (await folder.files((await folder.take(null, true)).id)).map((line) => line.slice(7));
  sh(`
    git init -q . && printf '\\357\\273\\277*.pem\\r\\nbuild/\\r\\n.ENV\\r\\n/Sub/own\\n' > .gitignore
    printf 'kept.LOG\\n' > .git/info/exclude && mkdir Build sub && printf '\\357\\273\\277Deep\\r\\n' > sub/.gitignore
    touch Build/tracked Kept.pem && git add -f Build/tracked Kept.pem && mv Kept.pem kept.PEM
    touch Build/o Secret.PEM .env Sub.pem seen kept.log sub/own sub/deep && ${on}
  `);
  expect(sh('git ls-files -o --exclude-standard')).toBe('.gitignore\nseen\nsub/.gitignore\n');
  expect(await held()).toEqual(['.gitignore', 'Build/tracked', 'kept.PEM', 'seen', 'sub/.gitignore']);
  sh(`touch new.Pem && ${off}`);
  const more = ['.env', 'Build/o', 'Secret.PEM', 'kept.log', 'new.Pem', 'sub/deep', 'sub/own'];
  expect(sh('git ls-files -o --exclude-standard').split('\n')).toEqual(expect.arrayContaining(more));
  expect(await held()).toEqual(expect.arrayContaining(more));
});

test('a repository in a folder ignores case by its own configuration, else by that of the person (T2)', async () => {
  const { sh, means, files } = shadowed();
  const rules = (where: string): string => `printf '*.pem\\n' > ${where}/.gitignore && touch ${where}/A.PEM`;
  sh(`mkdir yes no unset none && for each in yes no unset; do git init -q $each; done
    git -C yes config core.ignoreCase true && git -C no config core.ignoreCase false
    ${['yes', 'no', 'unset', 'none'].map(rules).join('\n')}`);
  const take = async (ignoresCase: boolean): Promise<readonly string[]> => {
    const { id } = await takeSnapshot({ ...means, personal: async () => ({ rules: '', ignoresCase }) }, null);
    return (await files(id)).flatMap((line) => (line.endsWith('A.PEM') ? [line.slice(7, line.lastIndexOf('/'))] : []));
  };
  expect(await take(true)).toEqual(['no']);
  expect(await take(false)).toEqual(['no', 'none', 'unset']);
});
