// Keeps a command to what it was judged to be, because the folder it works in is not trusted. A
// command that only reads finds no program in that folder, nor in its git configuration where that
// can be overruled; git.ts looks where it cannot.
import { isAbsolute } from 'node:path';
import { withGitSettings, type GitSettings } from '../../../system/process/environment.ts';
import { isInReach, type Reach } from '../../../system/process/places.ts';

type Environment = Readonly<Record<string, string>>;

const READING: GitSettings = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['log.showSignature', 'false'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
];

/**
 * In GBK, Big5 or Shift JIS a backslash may be half of a character: the shell must cut a command as
 * it was cut to be judged.
 */
const LOCALE = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8';

/**
 * Builds the environment of a command that does more than read. A rule that allows `git commit`
 * means the existing repository, with its hooks and filters, and the existing PATH.
 */
export function buildChangingEnvironment(base: Environment): Environment {
  return withGitSettings({ ...base, LC_ALL: LOCALE });
}

export function buildReadOnlyEnvironment(base: Environment, reach: Reach): Environment {
  const path = (base['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder) && !isInReach(reach, folder));
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
