// Tells whether a repository's configuration holds only keys that are known to be harmless to a git
// that reads. Git has hundreds of keys, and others' programs (git-lfs) have theirs: a list of the
// bad ones would never be whole.
import { homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';

/**
 * Sticky patterns for the parts of a line: each begins where the part before ended, white space
 * left out.
 */
const HEADER = /\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\]|\\.)*)")?\]/y;
const KEY = /([A-Za-z][A-Za-z0-9-]*)[ \t]*(?:=(.*))?$/y;
const BLANK = /[ \t\r]*/y;

/**
 * Sections that only a transfer, a change or another program reads: a git that reads meets none of
 * their keys. `.*` stands for sections with a name.
 */
const NEVER_READ =
  'advice alias apply author branch branch.* checkout clean clone color color.* column commit committer credential credential.* difftool difftool.* ' +
  'feature fetch gc ghq github gitflow gitflow.* gitlab gui guitool.* http http.* hub instaweb maintenance mergetool mergetool.* notes notes.* ' +
  'protocol protocol.* pull push rebase receive rerere safe sendemail sendemail.* ssh stash svn svn-remote.* transfer url.* user user.* worktree';

/**
 * Keys of the other sections. A key that `buildReadOnlyEnvironment` overrules is harmless too:
 * husky sets core.hooksPath.
 */
const KEYS: Readonly<Record<string, string>> = {
  blame: 'blankboundary coloring date markignoredlines markunblamablelines showemail showroot',
  core:
    'abbrev autocrlf bare bigfilethreshold checkroundtripencoding checkstat commentchar commentstring commitgraph compression createobject ' +
    'deltabasecachelimit disambiguate editor eol excludesfile filemode fscache fsmonitor fsync fsyncmethod fsyncobjectfiles gitproxy hidedotfiles hookspath ignorecase ' +
    'ignorestat logallrefupdates longpaths loosecompression maxtreedepth multipackindex notesref packedgitlimit packedgitwindowsize packedrefstimeout pager ' +
    'precomposeunicode preloadindex protecthfs protectntfs quotepath repositoryformatversion restrictinheritedhandles safecrlf sharedrepository ' +
    'sparsecheckout sparsecheckoutcone splitindex sshcommand symlinks trustctime unsetenvvars untrackedcache usereplacerefs warnambiguousrefs whitespace',
  diff:
    'algorithm autorefreshindex colormoved colormovedws context dirstat dstprefix guitool indentheuristic interhunkcontext mnemonicprefix noprefix ' +
    'renamelimit renames relative srcprefix statgraphwidth statnamewidth suppressblankempty tool wordregex wserrorhighlight',
  'diff.*': 'algorithm binary funcname wordregex xfuncname',
  extensions: 'noop objectformat partialclone preciousobjects refstorage relativeworktrees worktreeconfig',
  gpg: 'format mintrustlevel program',
  'gpg.*': 'allowedsignersfile program revocationfile',
  grep: 'column extendedregexp fallbacktonoindex fullname linenumber patterntype threads',
  index: 'recordendofindexentries recordoffsettable skiphash sparse threads version',
  init: 'defaultbranch',
  lfs: 'repositoryformatversion',
  'lfs.*': 'access locksverify',
  log: 'abbrevcommit date decorate diffmerges follow graphcolors initialdecorationset mailmap showroot showsignature',
  merge:
    'autostash branchdesc conflictstyle defaulttoupstream directoryrenames ff guitool log renamelimit renames stat suppressdest tool verbosity',
  pack: 'threads windowmemory',
  'remote.*':
    'fetch followremotehead gh-resolved mirror partialclonefilter promisor proxy proxyauthmethod prune prunetags push pushurl receivepack serveroption skipdefaultupdate skipfetchall ' +
    'tagopt uploadpack url',
  status:
    'aheadbehind branch displaycommentprefix relativepaths renamelimit renames short showstash showuntrackedfiles',
  submodule: 'active alternateerrorstrategy alternatelocation fetchjobs propagatebranches recurse',
  'submodule.*': 'active branch fetchrecursesubmodules ignore path shallow url',
  tag: 'forcesignannotated gpgsign sort',
};

type AllowedKeys = ReadonlySet<string> | 'all' | 'includes';

const HARMLESS: ReadonlyMap<string, AllowedKeys> = new Map<string, AllowedKeys>([
  ...NEVER_READ.split(' ').map((section) => [section, 'all'] as const),
  ...Object.entries(KEYS).map(([section, keys]) => [section, new Set(keys.split(' '))] as const),
  ['include', 'includes'],
  ['includeif.*', 'includes'],
]);

/** Files that files name, each by the one before. */
const MOST_INCLUDED = 5;

/**
 * Describes the first line that is not harmless, or not understood, as the words that follow "the
 * configuration". `read` returns null for a file that does not exist (yet).
 */
export function findConfigDoubt(file: string, read: (file: string) => string | null, depth = 0): string | undefined {
  for (const line of (read(file) ?? '').split('\n').reduce(readConfigLine, { lines: [], section: '' }).lines) {
    if (line.doubt !== undefined) return line.doubt;
    if (line.key === undefined) continue;
    const allowed = HARMLESS.get(line.section) ?? new Set<string>();
    if (allowed === 'includes') {
      const included = line.key === 'path' ? resolveInclude(line.value ?? '', file) : undefined;
      if (included === undefined || depth >= MOST_INCLUDED) return `sets ${line.section}.${line.key}`;
      const doubt = read(included) === null ? 'is not there yet' : findConfigDoubt(included, read, depth + 1);
      if (doubt !== undefined) return `includes a file that ${doubt}`;
    } else if (allowed !== 'all' && !allowed.has(line.key)) return `sets ${line.section}.${line.key}`;
  }
  return undefined;
}

type Line = {
  readonly section: string;
  readonly key?: string;
  readonly value?: string | undefined;
  readonly doubt?: string;
};
type ReadLines = { readonly lines: Line[]; readonly section: string };

const UNCLEAR = 'has a line that cannot be read for certain';

function readConfigLine({ lines, section: before }: ReadLines, text: string): ReadLines {
  let section = before;
  // The line goes on in the next.
  if (/\\\r?$/.test(text)) return { lines: [...lines, { section, doubt: UNCLEAR }], section };
  let at = skipMatch(BLANK, text, 0);
  for (let header = take(HEADER, text, at); header !== null; header = take(HEADER, text, at)) {
    section = nameSection(header);
    at = skipMatch(BLANK, text, HEADER.lastIndex);
  }
  if (at === text.length || text[at] === '#' || text[at] === ';') return { lines, section };
  const [, key, value] = take(KEY, text, at) ?? [];
  lines.push(key === undefined ? { section, doubt: UNCLEAR } : { section, key: key.toLowerCase(), value });
  return { lines, section };
}

/** Names a section. `[remote.origin]` is an old way to write `[remote "origin"]`. */
function nameSection([, section = '', name]: RegExpExecArray): string {
  const [first = '', ...rest] = section.toLowerCase().split('.');
  return rest.length > 0 || name !== undefined ? `${first}.*` : first;
}

/** Resolves an included path; undefined for one that git may read in another way. */
function resolveInclude(value: string, file: string): string | undefined {
  const path = value.trim().replace(/^"([^"]*)"$/, '$1');
  if (!/^[\w./~@%+ -]+$/.test(path) || path.startsWith('%')) return undefined;
  if (path.startsWith('~')) return path.startsWith('~/') ? join(homedir(), path.slice(2)) : undefined;
  return isAbsolute(path) ? path : join(dirname(file), path);
}

function take(pattern: RegExp, line: string, at: number): RegExpExecArray | null {
  pattern.lastIndex = at;
  return pattern.exec(line);
}

function skipMatch(pattern: RegExp, line: string, at: number): number {
  return at + (take(pattern, line, at)?.[0].length ?? 0);
}
