// Finds the processes that a run of the tests has started and that outlive it. Linux alone tells of
// them (/proc): elsewhere none is found. The product gives what it starts an environment from
// allow-lists, so that no variable of a run's own arrives there. But all that a test makes lies in
// the run's temporary folder, if it has one (TMPDIR): what works there names it in its environment,
// arguments or working folder.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/**
 * `line`: its arguments, with blanks between them. `environment`: what it was started with, as
 * NAME=value, separated by NUL.
 * @typedef {object} SeenProcess
 * @property {number} pid
 * @property {number} parent
 * @property {string} line
 * @property {string} environment
 * @property {string} cwd
 */

/**
 * `own`: the process that asks. It and those above it are no part of what it has started; nor is
 * the process that starts programs for it, as it did where the server had to be built, and which
 * ends with it.
 * @param {string} folder
 * @param {readonly SeenProcess[]} seen
 * @param {number} own
 */
export function ofRun(folder, seen, own) {
  const parents = new Map(seen.map(({ pid, parent }) => [pid, parent]));
  const above = new Set();
  for (let pid = own; pid > 0 && !above.has(pid); pid = parents.get(pid) ?? 0) above.add(pid);
  const isNamed = ({ environment, line, cwd }) => [environment, line, cwd].some((text) => text.includes(folder));
  const startsFor = `spawner-process.mjs ${own}`;
  return seen.filter((one) => !above.has(one.pid) && !one.line.endsWith(startsFor) && isNamed(one));
}

/**
 * Those that have ended and are not reaped yet are not among them.
 * @returns {readonly SeenProcess[]}
 */
export function seeProcesses() {
  const names = orEmpty(() => readdirSync('/proc').join(' ')).split(' ');
  return names.filter((name) => /^\d+$/.test(name)).flatMap((name) => seeProcess(Number(name)));
}

/** @param {number} pid */
function seeProcess(pid) {
  const stat = orEmpty(() => readFileSync(`/proc/${pid}/stat`, 'latin1'));
  // Its name, in parentheses, may hold anything.
  const [state = 'X', parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (stat === '' || 'ZX'.includes(state)) return [];
  return [
    {
      pid,
      parent: Number(parent),
      line: orEmpty(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim()),
      environment: orEmpty(() => readFileSync(`/proc/${pid}/environ`, 'utf8')),
      cwd: orEmpty(() => readlinkSync(`/proc/${pid}/cwd`)),
    },
  ];
}

/**
 * It has ended meanwhile, belongs to someone else, or there is no /proc.
 * @param {() => string} read
 */
function orEmpty(read) {
  try {
    return read();
  } catch {
    return '';
  }
}

/**
 * Only where something is left is it waited for: what was killed as the last thing of a run is gone
 * in a moment.
 */
const PATIENCE_MS = 60_000;
const POLL_MS = 50;

/**
 * What is left when the run is over and the servers of whole tiers have been stopped: a line each,
 * at most after a minute. Blocks meanwhile.
 * @param {string} folder
 * @returns {readonly string[]}
 */
export function leftOver(folder) {
  const rest = new Int32Array(new SharedArrayBuffer(4));
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const left = ofRun(folder, seeProcesses(), process.pid);
    if (left.length === 0 || performance.now() > deadline) return left.map(describeLeft);
    Atomics.wait(rest, 0, 0, POLL_MS);
  }
}

/** @param {SeenProcess} left */
function describeLeft({ pid, parent, line }) {
  return `left over: process ${pid} (parent ${parent}): ${line.slice(0, 300)}`;
}
