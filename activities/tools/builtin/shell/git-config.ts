// Whether a repository's configuration holds only what is known to be harmless to a git that reads. Git has hundreds of keys, and
// others' programs (git-lfs) have theirs: a list of the bad ones would never be whole.

/** Where a line of a file stands in it: what follows the part before, white space left out. */
const HEADER = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\]/y;
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=.*)?$/y;
const BLANK = /[ \t\r]*/y;

/**
 * By section, with `.*` where it has a name of its own, such as `[remote "origin"]`. What `readOnlyEnvironment` overrules is
 * harmless too: husky sets core.hooksPath.
 */
const HARMLESS: Readonly<Record<string, readonly string[] | 'all'>> = {
  advice: 'all',
  author: 'all',
  'branch.*': 'all',
  branch: 'all',
  color: 'all',
  'color.*': 'all',
  commit: words('gpgsign'),
  committer: 'all',
  core: words(
    'abbrev autocrlf bare bigfilethreshold checkstat commentchar compression deltabasecachelimit eol filemode fscache fsmonitor ' +
      'hidedotfiles hookspath ignorecase logallrefupdates longpaths multipackindex packedgitlimit packedgitwindowsize ' +
      'precomposeunicode preloadindex protecthfs protectntfs quotepath repositoryformatversion safecrlf sharedrepository ' +
      'sparsecheckout sparsecheckoutcone splitindex symlinks trustctime untrackedcache',
  ),
  extensions: words('noop objectformat refstorage worktreeconfig'),
  fetch: words('prune prunetags parallel writecommitgraph'),
  gc: words('auto autodetach'),
  gpg: words('format program'),
  'gpg.*': words('program'),
  index: words('skiphash sparse threads version'),
  init: words('defaultbranch'),
  lfs: words('repositoryformatversion'),
  'lfs.*': words('access locksverify'),
  log: words('showsignature'),
  maintenance: words('auto strategy'),
  pack: words('threads windowmemory'),
  pull: words('ff rebase'),
  push: words('autosetupremote default followtags'),
  rebase: words('autosquash autostash updaterefs'),
  'remote.*': words('fetch gh-resolved mirror prune prunetags push pushurl skipdefaultupdate tagopt url'),
  rerere: words('autoupdate enabled'),
  tag: words('gpgsign'),
  user: words('email name signingkey useconfigonly'),
};

function words(text: string): readonly string[] {
  return text.split(' ');
}

/** In doubt it does not: where a line goes on in the next, or is not understood. */
export function holdsOnlyHarmless(config: string): boolean {
  let allowed: readonly string[] | 'all' = [];
  for (const line of config.split('\n')) {
    if (/\\\r?$/.test(line)) return false;
    let at = skip(BLANK, line, 0);
    for (let header = take(HEADER, line, at); header !== null; header = take(HEADER, line, at)) {
      allowed = allowedIn(header);
      at = skip(BLANK, line, HEADER.lastIndex);
    }
    if (at === line.length || line[at] === '#' || line[at] === ';') continue;
    const key = take(KEY, line, at)?.[1]?.toLowerCase();
    if (key === undefined || (allowed !== 'all' && !allowed.includes(key))) return false;
  }
  return true;
}

/** `[remote.origin]` is an old way to write `[remote "origin"]`. */
function allowedIn([, section = '', name]: RegExpExecArray): readonly string[] | 'all' {
  const [first = '', ...rest] = section.toLowerCase().split('.');
  const known = rest.length > 0 || name !== undefined ? `${first}.*` : first;
  return Object.hasOwn(HARMLESS, known) ? (HARMLESS[known] ?? []) : [];
}

function take(pattern: RegExp, line: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(line);
}

function skip(pattern: RegExp, line: string, at: number): number {
  return at + (take(pattern, line, at)?.[0].length ?? 0);
}
