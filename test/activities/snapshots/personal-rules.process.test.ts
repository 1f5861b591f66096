// Where the rules of a person for ignored files are found, held against git's own answer.
import { spawnSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { PersonalRules } from '../../../activities/snapshots/personal-rules.ts';
import { findPrograms } from '../../../system/process/programs.ts';
import { tempDir } from '../../support/temp-dir.ts';

type Files = Readonly<Record<string, string>>;

function openHome(files: Files, more: (home: string) => NodeJS.ProcessEnv = () => ({})) {
  const [home, dataDir] = [tempDir(), tempDir()];
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(home, name, '..'), { recursive: true });
    writeFileSync(join(home, name), text);
  }
  const env = { PATH: process.env['PATH'], GIT_CONFIG_SYSTEM: join(home, 'system'), ...more(home) };
  const rules = new PersonalRules({ sandbox: { programs: findPrograms(env) }, dataDir, env, home });
  /** Tells whether git ignores a file in a repository of this person. */
  const isIgnored = (name: string): boolean => {
    const cwd = tempDir();
    spawnSync('git', ['init', '-q', '.'], { cwd });
    return spawnSync('git', ['check-ignore', '-q', name], { cwd, env: { ...env, HOME: home } }).status === 0;
  };
  return { home, rules, isIgnored };
}

const named = (file: string): string => `[core]\n\texcludesFile = ${file}\n`;
type Case = readonly [what: string, files: Files, more?: (home: string) => NodeJS.ProcessEnv];
const CASES: readonly Case[] = [
  ['its usual place', { '.config/git/ignore': 'mine\n' }],
  [
    'another folder of configurations',
    { 'xdg/git/ignore': 'mine\n', '.config/git/ignore': 'other\n' },
    (home) => ({ XDG_CONFIG_HOME: join(home, 'xdg') }),
  ],
  [
    'the file that the configuration names',
    { '.gitconfig': named('~/rules'), rules: 'mine\n', '.config/git/ignore': 'other\n' },
  ],
  [
    'the file that an included configuration names',
    { '.gitconfig': '[include]\n\tpath = more\n', more: named('~/rules'), rules: 'mine\n' },
  ],
  ['the file that the machine names', { system: named('~/rules'), rules: 'mine\n', '.config/git/ignore': 'other\n' }],
  [
    'the person’s before the machine’s',
    { system: named('~/other'), '.gitconfig': named('~/rules'), rules: 'mine\n', other: 'other\n' },
  ],
  [
    'a configuration that the environment names',
    { own: named('~/rules'), rules: 'mine\n', '.gitconfig': named('~/other'), other: 'other\n' },
    (home) => ({ GIT_CONFIG_GLOBAL: join(home, 'own') }),
  ],
];

test.each(CASES.map(([what, files, more]) => ({ what, files, more })))(
  'rules of a person are read as git reads them: $what (T2)',
  async ({ files, more }) => {
    const { rules, isIgnored } = openHome(files, more);
    expect([isIgnored('mine'), isIgnored('other')]).toEqual([true, false]);
    expect((await rules.read()).rules).toBe('mine\n');
  },
);

test('rules of a person that are not there, a folder or a link hold nothing up (T2)', async () => {
  const none = openHome({});
  expect((await none.rules.read()).rules).toBe('');
  writeFileSync(join(none.home, 'rules'), 'mine\n');
  mkdirSync(join(none.home, '.config', 'git'), { recursive: true });
  symlinkSync(join(none.home, 'rules'), join(none.home, '.config', 'git', 'ignore'));
  expect((await none.rules.read()).rules).toBe('mine\n');
  expect((await openHome({ '.gitconfig': named('/') }).rules.read()).rules).toBe('');
  expect((await openHome({ '.gitconfig': named(''), '.config/git/ignore': 'mine\n' }).rules.read()).rules).toBe('');
});

test('rules beside a configuration that git cannot read are refused in its words, until it can (T2)', async () => {
  const { home, rules, isIgnored } = openHome({ '.gitconfig': '[core\n', '.config/git/ignore': 'mine\n' });
  await expect(rules.read()).rejects.toThrow(/^git cannot read its configuration: .*bad config/);
  writeFileSync(join(home, '.gitconfig'), named('~nobody-of-this-name/rules'));
  await expect(rules.read()).rejects.toThrow(/^git cannot read its configuration: .*failed to expand/);
  writeFileSync(join(home, '.gitconfig'), '[user]\n\tname = someone\n');
  expect(isIgnored('mine')).toBe(true);
  expect((await rules.read()).rules).toBe('mine\n');
});

test('a file of rules that each workspace would have for itself is passed over (T2)', async () => {
  expect(
    (await openHome({ '.gitconfig': named('package.json'), '.config/git/ignore': 'mine\n' }).rules.read()).rules,
  ).toBe('');
});

test('of a long file of rules only whole lines count (T2)', async () => {
  const line = `${'x'.repeat(99)}\n`;
  const { rules } = openHome({ '.config/git/ignore': line.repeat(1_000) });
  expect((await rules.read()).rules).toBe(line.repeat(655));
});

test('whether case counts is read from the configuration of the person, else from that of the machine (T2)', async () => {
  const on = '[core]\n\tignoreCase\n';
  const off = '[core]\n\tignoreCase = no\n';
  const read = async (files: Files): Promise<boolean> => (await openHome(files).rules.read()).ignoresCase;
  expect(await read({})).toBe(false);
  expect(await read({ system: on })).toBe(true);
  expect(await read({ system: on, '.gitconfig': off })).toBe(false);
  expect(await read({ '.gitconfig': '[include]\n\tpath = more\n', more: on })).toBe(true);
});
