// Random changes of a folder, as lines of bash that always succeed: what an agent, a person or git
// may do there. Each has a kind, so that a walk can leave kinds out.
import type { Random } from '../support/random.ts';
import type { Bounds } from './expect-files.ts';

export const KINDS = [
  'bounds',
  'empty',
  'hardlinks',
  'ignored',
  'links',
  'modes',
  'nested',
  'odd',
  'pipes',
  'rules',
  'tracked',
  'sparse',
  'modules',
  'unreadable',
] as const;
export type Kind = (typeof KINDS)[number];

/** Small bounds, so that a walk meets them. */
export const BOUNDS = { files: 60, bytes: 1_500_000, fileBytes: 150_000 };

/** Ignored files are captured in one of two walks. */
export function drawBounds({ bool }: Random, without: ReadonlySet<string>): Bounds {
  return bool() && !without.has('include') ? { ...BOUNDS, include: ['.env', 'build/out.o', '/src/*.log'] } : BOUNDS;
}

const PLAIN: readonly [string, ...string[]] = ['a', 'b', 'src/a.ts', 'src/b.ts', 'src/deep/er/a', 'docs/x.md', 'c'];
const ODD: readonly [string, ...string[]] = [
  '-rf',
  'sp ace',
  "quo'te",
  'new\\nline',
  '\\377odd',
  'é',
  '*',
  '.dot',
  'tab\\there',
  'end.',
  'src/\\303\\050',
  '"',
  'back\\\\slash',
];
const IGNORED: readonly [string, ...string[]] = [
  '.env',
  'x.log',
  'build/out.o',
  'src/y.log',
  'my.personal',
  'keep.log',
  'build/deep/z',
  'only-here',
];
const RULES: readonly [string, ...string[]] = [
  '*.log\\nbuild/\\n.env\\n',
  '*.log\\n!keep.log\\nbuild\\n.env\\n',
  'build/*\\n!build/out.o\\n',
  'node_modules\\n',
  '*\\n!*/\\n!*.ts\\n!a\\n!.gitignore\\n',
  '.env\\n/src/deep\\n',
  '# nothing\\n',
  '',
];

type Maker = readonly [weight: number, kind: Kind | null, make: (random: Random) => string];

const quoted = (name: string): string => `$'./${name.replaceAll("'", "\\'")}'`;

/** Functions of all scripts; they lie beside the folders of a walk. */
export const TOOLS = `
ready() {
  rm -rf -- "$1" && mkdir -p -- "$2" && return
  rm -rf -- "$2"; mkdir -p -- "$2"
}
g() { git -c user.name=w -c user.email=w@w -c protocol.file.allow=always -c commit.gpgsign=false "$@"; }
`;

/** Makes room for a file: what is in the way goes. */
function ready(name: string): string {
  return `ready ${quoted(name)} ${quoted(name.includes('/') ? name.slice(0, name.lastIndexOf('/')) : '.')}`;
}

const isPlainFile = (path: string): string => `[ -f ${path} ] && [ ! -L ${path} ]`;

function writeFile(name: string, { pick, nat }: Random): string {
  const text = String(nat(1e9));
  const path = quoted(name);
  return pick([
    `${ready(name)}; printf '%s\\n' ${text} > ${path}`,
    `${ready(name)}; printf '\\r\\n%s\\0\\377' ${text} > ${path}`,
    `${ready(name)}; head -c ${nat(20_000)} /dev/zero > ${path}`,
    `if ${isPlainFile(path)}; then printf 'more %s\\n' ${text} >> ${path}; else ${ready(name)}; printf new > ${path}; fi`,
    `if ${isPlainFile(path)}; then printf '%s\\n' ${text} > ${path}.new; mv -f -- ${path}.new ${path}; fi`,
  ]);
}

const MAKERS: readonly Maker[] = [
  [6, null, (random) => writeFile(random.pick(PLAIN), random)],
  [2, null, ({ pick }) => `rm -rf -- ${quoted(pick(PLAIN))}`],
  [1, null, ({ nat }) => `[ -d src ] && [ ! -L src ] && mv src moved${nat(3)}`],
  [1, null, ({ nat }) => `mkdir -p made${nat(2)}/in; echo x > made${nat(2)}/in/f`],
  [1, null, ({ pick }) => `touch -d 2001-01-01 -- ${quoted(pick(PLAIN))}`],
  [1, null, ({ pick }) => `${ready('src')}; echo file > src; : ${pick(PLAIN)}`],
  [3, 'odd', (random) => writeFile(random.pick(ODD), random)],
  [1, 'odd', ({ pick }) => `rm -rf -- ${quoted(pick(ODD))}`],
  [1, 'odd', () => `${ready('.gitmodules')}; ln -s a .gitmodules`],
  [1, 'odd', () => `printf '* text eol=crlf\\n*.ts filter=x\\n' > .gitattributes`],
  [3, 'links', ({ pick }) => linkTo(pick(['a', '../outside/kept', '..', 'nowhere', '.', 'src']), pick(PLAIN))],
  [2, 'hardlinks', ({ pick }) => `${isPlainFile('a')} && { ${ready('hard')}; ln -- a hard; } ; : ${pick(PLAIN)}`],
  [1, 'hardlinks', ({ pick }) => hardLink(pick(PLAIN))],
  [3, 'modes', ({ pick }) => changeMode(pick(PLAIN), pick(['755', '644', '600', '700', '444', '4755', '664']))],
  [1, 'modes', ({ pick }) => `mkdir -p secret; echo s > secret/key; chmod ${pick(['700', '750', '755'])} secret`],
  [3, 'empty', ({ nat }) => `mkdir -p empty${nat(2)}/deep`],
  [1, 'empty', ({ nat }) => `rmdir empty${nat(2)}/deep empty${nat(2)}`],
  [1, 'empty', ({ nat }) => `rm -rf empty${nat(2)}; f=empty${nat(2)}; [ -p $f ] || echo file > $f`],
  [1, 'empty', ({ nat }) => `mkdir -p -m 700 shut${nat(1)}`],
  [3, 'ignored', (random) => writeFile(random.pick(IGNORED), random)],
  [1, 'ignored', ({ pick }) => `rm -rf -- ${quoted(pick(IGNORED))}`],
  [3, 'rules', ({ pick }) => `printf '${pick(RULES)}' > ${pick(['.gitignore', '.gitignore', 'src/.gitignore'])}`],
  [1, 'rules', ({ pick }) => `rm -f -- ${pick(['.gitignore', 'src/.gitignore'])}`],
  [1, 'rules', () => `[ -d .git/info ] && echo only-here >> .git/info/exclude`],
  [
    2,
    'bounds',
    ({ pick }) => `${ready('big.bin')}; head -c ${pick([151_000, 149_000, 200_000])} /dev/urandom > big.bin`,
  ],
  [1, 'bounds', () => `[ -f big.bin ] && truncate -s 1000 big.bin`],
  [1, 'bounds', ({ nat }) => `mkdir -p many; for i in $(seq ${40 + nat(40)}); do echo $i > many/$i; done`],
  [1, 'bounds', ({ nat }) => `rm -f many/${1 + nat(8)} many/${10 + nat(9)}; rm -rf many/2*`],
  [1, 'bounds', () => `for i in $(seq 12); do head -c 140000 /dev/urandom > chunk$i; done`],
  [1, 'bounds', () => `rm -f chunk*`],
  [2, 'pipes', ({ pick }) => withPipe(pick(['pipe', 'empty1', 'a', 'src/pipe', 'empty0/deep']))],
  [1, 'pipes', ({ pick }) => withSocket(pick(['sock', 'empty1', 'a', 'src/sock']))],
  [1, 'pipes', () => `find . -name .git -prune -o '(' -type p -o -type s ')' -exec rm -f -- {} +`],
  [1, 'unreadable', ({ pick }) => changeMode(pick(PLAIN), pick(['000', '200']))],
  [1, 'unreadable', () => `mkdir -p closed/in; echo c > closed/in/c; echo c > closed/c; chmod 000 closed/in closed`],
  [1, 'unreadable', () => `chmod 755 closed closed/in`],
  [2, 'nested', ({ pick }) => nest(pick(['sub', 'src/nested']))],
  [1, 'nested', ({ pick }) => `rm -rf ${pick(['sub', 'src/nested'])}/.git`],
  [1, 'nested', ({ pick }) => `rm -rf ${pick(['sub', 'src/nested'])}`],
  [1, 'nested', ({ nat }) => `[ -d sub ] && echo ${nat(99)} > sub/priv; [ -d sub ] && echo ${nat(99)} > sub/mine`],
  [1, 'nested', () => `[ -d sub/.git ] && g -C sub add -A && g -C sub commit -qm s`],
  [
    2,
    'tracked',
    ({ pick, nat }) => `echo ${nat(99)} > ${pick(['keep.log', 'src/y.log'])}; g add -f -- *.log src/*.log`,
  ],
  [2, 'tracked', () => `g add -A && g commit -qm walk`],
  [1, 'tracked', () => `g stash -q`],
  [1, 'tracked', () => `g stash pop -q`],
  [1, 'tracked', ({ pick }) => `g rm -rq --cached -- ${pick(['keep.log', 'src/y.log', 'a'])}`],
  [1, 'tracked', ({ nat }) => `g checkout -q -B branch${nat(1)}`],
  [1, 'sparse', () => `g sparse-checkout set --no-cone '/*' '!docs/'`],
  [1, 'sparse', () => `g sparse-checkout disable`],
  [1, 'modules', () => `[ -d ../module/.git ] && g submodule --quiet add -f ../module lib 2>/dev/null`],
  [1, 'modules', () => `[ -e lib/.git ] && echo changed >> lib/m`],
  [1, 'modules', () => `g worktree add -q -f tree 2>/dev/null`],
];

const linkTo = (target: string, name: string): string => `${ready(name)}; ln -s -- ${target} ${quoted(name)}`;
const hardLink = (name: string): string =>
  `[ -f ../outside/kept ] && { ${ready(name)}; ln -- ../outside/kept ${quoted(name)}; }`;
const changeMode = (name: string, mode: string): string =>
  `${isPlainFile(quoted(name))} && chmod ${mode} -- ${quoted(name)}`;
const withPipe = (name: string): string => `${ready(name)}; mkfifo -- ${quoted(name)}`;
const withSocket = (name: string): string =>
  `${ready(name)}; perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un($ARGV[0]))' ${quoted(name)}`;
const nest = (name: string): string =>
  `[ -d ${name}/.git ] || { ${ready(`${name}/f`)}; git init -q ${name} && echo priv > ${name}/.git/info/exclude; echo p > ${name}/priv; echo m > ${name}/mine; echo '*.log' > ${name}/.gitignore; echo l > ${name}/x.log; }`;

/** Who is not root cannot look at what is unreadable. */
const isRoot = process.getuid?.() === 0;

/** Draws a change of any kind that is not left out. */
export function drawChange(random: Random, without: ReadonlySet<string>): string {
  const isDrawn = (kind: Kind): boolean => !without.has(kind) && (isRoot || kind !== 'unreadable');
  const makers = MAKERS.filter(([, kind]) => kind === null || isDrawn(kind));
  const line = random.weighted(makers.map(([weight, , make]) => [weight, () => make(random)] as const));
  return `{ ${line}; } >/dev/null 2>&1 || :`;
}

/** What a person changes while a turn runs: nothing else changes there. */
export const drawMeanwhile = ({ nat }: Random): string =>
  `[ ! -d mine ] || { rm -f mine/${nat(3)}; echo ${nat(1e9)} > mine/${nat(3)}; }`;

/** The folder at the beginning: with a repository, or without one. */
export function drawBeginning(random: Random, without: ReadonlySet<string>): string {
  const isRepository = random.nat(3) > 0;
  const changes = Array.from({ length: 3 + random.nat(6) }, () => drawChange(random, without));
  const begin = isRepository
    ? [`git init -q . && printf '*.log\\nbuild/\\n.env\\n' > .gitignore && echo s > .env`, ...changes]
    : changes;
  const commit = isRepository && random.bool() ? [`{ g add -A && g commit -qm one; } >/dev/null 2>&1 || :`] : [];
  const module = `git init -q ../module && ( cd ../module && echo m > m && g add m && g commit -qm m )`;
  return [
    `mkdir -p ../outside && echo kept > ../outside/kept && echo a > a && mkdir mine && echo m > mine/m`,
    module,
    ...begin,
    ...commit,
  ].join('\n');
}
