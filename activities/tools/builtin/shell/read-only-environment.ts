// What keeps a command that was judged to only read from running something after all: the folder it reads is not trusted, and
// programs must not be found in it, nor named by its git configuration.
import { isAbsolute } from 'node:path';
import { isInside } from '../files/confine.ts';

const GIT_SETTINGS: readonly (readonly [string, string])[] = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  // A folder that looks like a repository, put among the files of another, would bring its own configuration.
  ['safe.bareRepository', 'explicit'],
];

export function readOnlyEnvironment(base: Readonly<Record<string, string>>, cwd: string): Record<string, string> {
  const path = (base['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder) && !isInside(cwd, folder));
  return {
    ...base,
    PATH: path.join(':'),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_PAGER: 'cat',
    GIT_CONFIG_COUNT: String(GIT_SETTINGS.length),
    ...Object.fromEntries(
      GIT_SETTINGS.flatMap(([name, value], n) => [
        [`GIT_CONFIG_KEY_${n}`, name],
        [`GIT_CONFIG_VALUE_${n}`, value],
      ]),
    ),
  };
}
