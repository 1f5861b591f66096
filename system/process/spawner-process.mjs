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
  // A request that a killed worker had sent arrives before its disconnect does. Other workers
  // answer for that command by now.
  if (process.ppid !== worker) leave();
  try {
    start(request);
  } catch (error) {
    refuse(request.id, error);
  }
});

/**
 * Closes descriptors that the worker inherited, such as the file of a lock: they are not for
 * commands, and Node keeps only the first few from them. Node's own are marked to be closed. On a
 * system without /proc, such as macOS, Node passes on only the descriptors it names.
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
    // The list itself was read through this one.
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

/** Returns an empty list on a system without /proc. */
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

// The other end of a pipe is held while it is opened, because a worker that was killed just now
// holds none.
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
 * Reads the start time here, where the process cannot be gone before it is reaped. Returns ''
 * without /proc.
 * @param {number | undefined} pid
 */
function startTime(pid) {
  return statFields(pid)[19] ?? '';
}

/**
 * Returns the fields after pid and name: state, parent, group, session and so on. The list is empty
 * when the process is gone.
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
  // A worker that was killed shows as a broken pipe before its disconnect arrives; an unhandled
  // error would end this process alone, and leave the commands.
  process.send?.(message, undefined, undefined, (error) => {
    if (error) leave();
  });
}
