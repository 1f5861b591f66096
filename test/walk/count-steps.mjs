// Loaded first by programs of a copy of the product: each call that changes the disk, or starts a
// program, is a step. The program stands still before the step that `armed.json` beside this file
// names, says so in a file where it may write, and dies when it is told to.
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const { appendFileSync, existsSync, readFileSync, writeFileSync } = fs;
const here = dirname(fileURLToPath(import.meta.url));
const armedFile = join(here, 'armed.json');
const file = basename(process.argv[1] ?? '');
/** `capture`, `restore`, `worker` or `command`. */
const program = file.endsWith('-process.js') ? file.slice(0, -11) : process.argv[2] === 'worker' ? 'worker' : 'command';
/** A worker also writes what has nothing to do with files over time: logs, caches. */
const isMeant = (place) => program !== 'worker' || /\/(?:snapshots|store|walks)\//.test(place);

let token = '';
let steps = 0;

function armed() {
  try {
    return JSON.parse(readFileSync(armedFile, 'utf8'));
  } catch {
    return null;
  }
}

function step(name, place) {
  const at = armed();
  if (at === null || at.program !== program || !isMeant(`${place}/`)) return;
  if (at.token !== token) [token, steps] = [at.token, 0];
  steps += 1;
  if (steps !== at.step) return;
  const told = JSON.stringify({ token, program, step: steps, name, place, pid: process.pid });
  tell(at.mark, told);
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (existsSync(armedFile) && armed()?.token === token) Atomics.wait(never, 0, 0, 20);
  process.kill(process.pid, 'SIGKILL');
  Atomics.wait(never, 0, 0);
}

/** Held, a program may write where it works, and not beside this file. */
function tell(mark, told) {
  for (const folder of [here, process.cwd()])
    try {
      return writeFileSync(join(folder, mark), told);
    } catch {
      // The next one may be written to.
    }
  appendFileSync(2, `${told}\n`);
}

const placeIn = (given) => {
  const text =
    given instanceof URL ? given.pathname : Buffer.isBuffer(given) ? given.toString('latin1') : String(given);
  return text.startsWith('/') ? text : join(process.cwd(), text);
};

/** Programs that write by open files name no place: every write of a held one counts. */
const BY_NAME =
  'appendFile chmod cp link lchown lutimes mkdir mkdtemp rename rm rmdir symlink truncate unlink utimes writeFile';
const BY_FILE = 'fchmod fchown fdatasync fsync ftruncate futimes write writev';

function isWriting(flags) {
  if (typeof flags === 'number')
    return (flags & (fs.constants.O_WRONLY | fs.constants.O_RDWR | fs.constants.O_CREAT)) !== 0;
  return typeof flags === 'string' && /[wa+]/.test(flags);
}

function wrap(holder, name, before) {
  const original = holder[name];
  if (typeof original !== 'function') return;
  holder[name] = function counted(...args) {
    before(args);
    return original.apply(this, args);
  };
}

const placed = { rename: 1, link: 1, symlink: 1, cp: 1 };
for (const { holder, suffix } of [
  { holder: fs, suffix: 'Sync' },
  { holder: fs, suffix: '' },
  { holder: fs.promises, suffix: '' },
]) {
  for (const name of BY_NAME.split(' '))
    wrap(holder, `${name}${suffix}`, (args) => step(name, placeIn(args[placed[name] ?? 0])));
  wrap(holder, `open${suffix}`, ([path, flags]) => isWriting(flags) && step('open', placeIn(path)));
  if (holder === fs && ['capture', 'restore'].includes(program))
    for (const name of BY_FILE.split(' ')) wrap(holder, `${name}${suffix}`, () => step(name, ''));
}
for (const name of ['spawn', 'spawnSync', 'execFile', 'execFileSync'])
  wrap(childProcess, name, ([path, args]) =>
    step(name, `/snapshots/ ${path} ${Array.isArray(args) ? args.slice(0, 9).join(' ') : ''}`),
  );
syncBuiltinESMExports();
