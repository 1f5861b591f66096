// What keeps a command that was judged to only read from running something after all: the folder it reads is not trusted, and
// programs must not be found in it, nor in its git configuration where that can be overruled. Where it cannot, git-programs.ts looks.
import { isAbsolute } from 'node:path';
import { isInside } from '../files/confine.ts';
import type { SimpleCommand } from './parse-shell.ts';

type Settings = readonly (readonly [string, string])[];

const SAFE_FOLDERS: Settings = [
  ['core.fsmonitor', 'false'],
  // A folder that looks like a repository, put among the files of another, would bring its own configuration.
  ['safe.bareRepository', 'explicit'],
];
const READING: Settings = [
  ...SAFE_FOLDERS,
  ['core.hooksPath', '/dev/null'],
  ['log.showSignature', 'false'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
];

type Environment = Readonly<Record<string, string>>;

export function readOnlyEnvironment(base: Environment, cwd: string): Environment {
  const path = (base['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder) && !isInside(cwd, folder));
  return {
    ...base,
    PATH: path.join(':'),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_PAGER: 'cat',
    ...gitSettings(READING),
  };
}

/**
 * Of a command that does more than read. A rule that allows `git commit` means the repository that is there, with its hooks and
 * filters, and the PATH that is there, not a folder that a `cd` finds among the files. Others get no settings: a test of theirs
 * may make bare repositories.
 */
export function changingEnvironment(base: Environment, commands: readonly SimpleCommand[] | null): Environment {
  const concerned = ['cd', 'git'].every((program) => commands?.some(({ words: [name] }) => name?.text === program));
  return concerned ? { ...base, ...gitSettings(SAFE_FOLDERS) } : base;
}

function gitSettings(settings: Settings): Environment {
  const pairs = settings.flatMap(([name, value], n) => [
    [`GIT_CONFIG_KEY_${n}`, name],
    [`GIT_CONFIG_VALUE_${n}`, value],
  ]);
  return { GIT_CONFIG_COUNT: String(settings.length), ...Object.fromEntries(pairs) };
}
