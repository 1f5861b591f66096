// What keeps a command to what it was judged to be: the folder it works in is not trusted. Programs of one that only reads must not be
// found in it, nor in its git configuration where that can be overruled. Where it cannot, git-programs.ts looks.
import { isAbsolute } from 'node:path';
import { withGitSettings, type GitSettings } from '../../../process/environment.ts';
import { isInside } from '../files/confine.ts';

type Environment = Readonly<Record<string, string>>;

const READING: GitSettings = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['log.showSignature', 'false'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
];

/** In GBK, Big5 or Shift JIS a backslash may be half of a character: the shell must cut a command as it was cut to be judged. */
const LOCALE = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8';

/**
 * Of a command that does more than read. A rule that allows `git commit` means the repository that is there, with its hooks and
 * filters, and the PATH that is there.
 */
export function changingEnvironment(base: Environment): Environment {
  return withGitSettings({ ...base, LC_ALL: LOCALE });
}

export function readOnlyEnvironment(base: Environment, cwd: string): Environment {
  const path = (base['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder) && !isInside(cwd, folder));
  const reading = {
    ...base,
    LC_ALL: LOCALE,
    PATH: path.join(':'),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_PAGER: 'cat',
  };
  return withGitSettings(reading, READING);
}
