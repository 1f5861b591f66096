// Starts commands on behalf of a worker. Forking a process of a worker's size takes tens of milliseconds in which the worker stands
// still; this one is small. It ends with its worker, and what it has started ends with it: a sandbox may not see that by itself while it
// is being set up, and without one nothing does.
import { spawn } from 'node:child_process';
import { closeSync, constants, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';

/** @import { FromSpawner, ToSpawner } from './spawner.ts' */

const worker = Number(process.argv[2]);

/** Leaders of the commands that run: each has a group and a session of its own. */
const running = new Set();

process.once('disconnect', leave);
process.on('message', (/** @type {ToSpawner} */ request) => {
  // What a worker had sent when it was killed arrives before its end does: others answer for that command by now.
  if (process.ppid !== worker) leave();
  try {
    start(request);
  } catch (error) {
    refuse(request.id, error);
  }
});

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
function start({ id, argv, cwd, env, output }) {
  const write = output === undefined ? /** @type {const} */ ('ignore') : openOutput(output);
  try {
    const child = spawn(argv[0] ?? '', argv.slice(1), { cwd, env, detached: true, stdio: ['ignore', write, write] });
    child.once('error', (error) => refuse(id, error));
    const { pid } = child;
    if (pid !== undefined) running.add(pid);
    child.once('spawn', () => say({ id, kind: 'started', pid: pid ?? 0, startTime: startTime(pid) }));
    child.once('exit', (code, signal) => {
      if (pid !== undefined) running.delete(pid);
      say({ id, kind: 'ended', code, signal });
    });
  } finally {
    if (write !== 'ignore') closeSync(write);
  }
}

/** @param {NonNullable<ToSpawner['output']>} output */
function openOutput({ path, inode }) {
  // A pipe is opened for writing once someone reads it: a worker that was killed just now does not.
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  const write = openWriter(path, reader);
  const found = fstatSync(write);
  if (found.isFIFO() && found.ino === inode) return write;
  closeSync(write);
  throw new Error('the pipe for the output of a command was replaced by something else while it was being opened');
}

/**
 * @param {string} path
 * @param {number} reader closed
 */
function openWriter(path, reader) {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NOFOLLOW);
  } finally {
    closeSync(reader);
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
 * Behind pid and name: state, parent, group, session and so on. Empty when there is no such process.
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
  process.send?.(message);
}
