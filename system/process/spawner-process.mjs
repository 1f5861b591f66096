// Starts the programs of a worker. Forking a process of a worker's size takes tens of milliseconds
// in which the worker stands still; this one is small. It ends with its worker, and what it has
// started ends with it: a sandbox that is being set up does not see that by itself (the death
// signals of bubblewrap's two processes come late), and without one nothing does.
import { spawn } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { Writable } from 'node:stream';

/** @import { FromSpawner, PipeEnd, ToSpawner } from './spawner.ts' */

const worker = Number(process.argv[2]);
/** O_CLOEXEC of Linux. */
const CLOSE_ON_EXEC = 0o2000000;

closeInherited();

/** Leaders of the commands that run: each has a group and a session of its own. */
const running = new Set();

process.once('disconnect', leave);
process.on('message', (/** @type {ToSpawner} */ request) => {
  // What a worker had sent when it was killed arrives before its end does: others answer for that
  // command by now.
  if (process.ppid !== worker) leave();
  try {
    start(request);
  } catch (error) {
    refuse(request.id, error);
  }
});

/**
 * What whoever started the worker left open for all it starts, such as a file of a lock, is for no
 * command: Node keeps only the first few from them. Its own are marked to be closed. Where there is
 * no /proc, as on macOS, it starts programs with none but those it names.
 */
function closeInherited() {
  for (const fd of openDescriptors()) if (fd > 2 && !closesOnExec(fd)) closeSync(fd);
}

function openDescriptors() {
  try {
    return readdirSync('/proc/self/fd').map(Number);
  } catch {
    return [];
  }
}

/** @param {number} fd */
function closesOnExec(fd) {
  try {
    const [, flags = ''] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
    return (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) !== 0;
  } catch {
    // It was the one the list was read with.
    return true;
  }
}

function leave() {
  for (const leader of running) kill(-leader);
  for (const pid of processes()) if (running.has(sessionOf(pid))) kill(pid);
  process.exit();
}

/** @param {number} pid negative: of a group */
function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** None where there is no /proc. */
function processes() {
  try {
    return readdirSync('/proc').map(Number).filter(Boolean);
  } catch {
    return [];
  }
}

/** @param {number} pid */
const sessionOf = (pid) => Number(statFields(pid)[3]);

/** @param {ToSpawner} request */
function start({ id, argv, cwd, env, filter, input, output, errors = output }) {
  /** @type {number[]} */
  const open = [];
  /**
   * @param {PipeEnd | undefined} end
   * @param {typeof openInput} opener
   */
  const take = (end, opener) => {
    if (end === undefined) return 'ignore';
    const fd = opener(end);
    open.push(fd);
    return fd;
  };
  try {
    const ends = [take(input, openInput), take(output, openOutput), take(errors, openOutput)];
    const stdio = filter === undefined ? ends : [...ends, /** @type {const} */ ('pipe')];
    const child = spawn(argv[0] ?? '', argv.slice(1), { cwd, env, detached: true, stdio });
    if (filter !== undefined) give(child.stdio[3], filter);
    child.once('error', (error) => refuse(id, error));
    const { pid } = child;
    if (pid !== undefined) running.add(pid);
    child.once('spawn', () => say({ id, kind: 'started', pid: pid ?? 0, startTime: startTime(pid) }));
    child.once('exit', (code, signal) => {
      if (pid !== undefined) running.delete(pid);
      say({ id, kind: 'ended', code, signal });
    });
  } finally {
    open.forEach((fd) => closeSync(fd));
  }
}

/**
 * @param {import('node:stream').Readable | Writable | null | undefined} pipe
 * @param {string} filter
 */
function give(pipe, filter) {
  if (!(pipe instanceof Writable)) return;
  // A program that ends without having read it says by itself why.
  pipe.on('error', () => undefined);
  pipe.end(Buffer.from(filter, 'base64'));
}

// A pipe is opened once someone has its other end: a worker that was killed just now has not.

/** @param {PipeEnd} end */
const openOutput = (end) => openEnd(end, constants.O_WRONLY, constants.O_RDONLY | constants.O_NONBLOCK);

/** @param {PipeEnd} end */
const openInput = (end) => openEnd(end, constants.O_RDONLY, constants.O_RDWR | constants.O_NONBLOCK);

/**
 * @param {PipeEnd} end
 * @param {number} flags
 * @param {number} ofOther how the other end is held meanwhile
 */
function openEnd({ path, inode }, flags, ofOther) {
  const other = openSync(path, ofOther | constants.O_NOFOLLOW);
  const own = openBeside(other, path, flags);
  const found = fstatSync(own);
  if (found.isFIFO() && found.ino === inode) return own;
  closeSync(own);
  throw new Error('a pipe of a command was replaced by something else while it was being opened');
}

/**
 * @param {number} other closed
 * @param {string} path
 * @param {number} flags
 */
function openBeside(other, path, flags) {
  try {
    return openSync(path, flags | constants.O_NOFOLLOW);
  } finally {
    closeSync(other);
  }
}

/**
 * Read here, where the process cannot be gone before it is reaped. Empty where there is no /proc.
 * @param {number | undefined} pid
 */
function startTime(pid) {
  return statFields(pid)[19] ?? '';
}

/**
 * Behind pid and name: state, parent, group, session and so on. Empty when there is no such
 * process.
 * @param {number | undefined} pid
 */
function statFields(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return [];
  }
}

/**
 * @param {number} id
 * @param {unknown} error
 */
function refuse(id, error) {
  const { message, code } = /** @type {NodeJS.ErrnoException} */ (error);
  say({ id, kind: 'refused', message, code });
}

/** @param {FromSpawner} message */
function say(message) {
  // Told before its end is, a worker that was killed is a broken pipe: an error that nobody heard
  // would end this process alone.
  process.send?.(message, undefined, undefined, (error) => {
    if (error) leave();
  });
}
