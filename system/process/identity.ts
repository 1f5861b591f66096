// Names a process for ever: pids are reused, a pid with its start time, boot and host is not.
// Claims, locks and the reaper ask here whether the process that wrote something is provably gone.
// It reads /proc, or runs `ps` where /proc is missing.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { hasProc, procStat } from './proc.ts';

export type ProcessIdentity = {
  readonly pid: number;
  /**
   * Clock ticks since boot on Linux, the date of the start elsewhere. It is only compared, never
   * computed with.
   */
  readonly startTime: string;
  /** The 36 characters of the boot id, or the first 8 when it comes from an identity string. */
  readonly bootId: string;
  readonly host: string;
};

/** The PATH of the system's own programs, on every system that lacks /proc. */
export const SYSTEM_PATH = '/usr/bin:/bin:/usr/sbin:/sbin';

const UNKNOWN_BOOT = '00000000-0000-0000-0000-000000000000';

export type Liveness = 'alive' | 'dead' | 'unknown';

/** Identifies this process. Throws when neither /proc nor `ps` tells its start time. */
export function processIdentity(): ProcessIdentity {
  const own = identityOf(process.pid);
  if (own === null) throw new Error('this process cannot find its own start time: neither /proc nor `ps` works here');
  return own;
}

/** Returns null when the process is gone. */
export function identityOf(pid: number): ProcessIdentity | null {
  const startTime = startTimeOf(pid);
  return startTime === null ? null : { pid, startTime, bootId: bootId(), host: hostName() };
}

/**
 * Returns when the process started, or null when it is gone. A zombie counts as gone: it will do
 * nothing more.
 */
export function startTimeOf(pid: number): string | null {
  if (!Number.isSafeInteger(pid) || pid <= 0) return null;
  return hasProc ? fromProc(pid) : fromPs(pid);
}

function fromProc(pid: number): string | null {
  const stat = procStat(pid);
  // The main thread of a killed process is a zombie before the others have ended, and until then
  // its ports and files are in use.
  return stat === null || (isGone(stat.state) && stat.threads <= 1) ? null : stat.startTime;
}

function fromPs(pid: number): string | null {
  const line = readOutputOf('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
  const [state, ...date] = line?.trim().split(/\s+/) ?? [];
  return isGone(state) || date.length === 0 ? null : date.join('-');
}

const isGone = (state: string | undefined) => state === undefined || /^[ZXx]/.test(state);

/**
 * Returns an id that changes when the machine starts again, and differs between containers, whose
 * pids mean different processes.
 */
export function bootId(): string {
  const boot = readOrNull('/proc/sys/kernel/random/boot_id') ?? readOutputOf('sysctl', ['-n', 'kern.bootsessionuuid']);
  const id = boot?.trim().toLowerCase() || UNKNOWN_BOOT;
  const namespace = pidNamespace();
  if (namespace === null) return id;
  return createHash('sha256').update(`${id} ${namespace}`).digest('hex').slice(0, 36);
}

/** Returns null in the machine's own pid namespace, whose number is fixed in Linux. */
function pidNamespace(): string | null {
  try {
    const name = readlinkSync('/proc/self/ns/pid');
    return name === 'pid:[4026531836]' ? null : name;
  } catch {
    return null;
  }
}

/**
 * Returns an id that stays the same over reboots, also when the machine's name changes; null where
 * the system has none. It is a hash, because the id itself is not for others. Containers may share
 * one, or have none.
 */
export function machineId(): string | null {
  const found =
    readOrNull('/etc/machine-id') ??
    readOrNull('/var/lib/dbus/machine-id') ??
    /"IOPlatformUUID" = "([^"]+)"/.exec(readOutputOf('ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice']) ?? '')?.[1];
  const id = found?.trim().toLowerCase();
  return id ? createHash('sha256').update(`perdure ${id}`).digest('hex').slice(0, 16) : null;
}

/** Returns the machine's name without `/`, which separates the parts of an identity string. */
export function hostName(): string {
  return hostname().replaceAll('/', '_');
}

/**
 * Tells whether a process lives; `alive` and `dead` are proofs. A process that may be on another
 * machine (another boot, even under the same host name: a fleet's machines can share one) is
 * `unknown`, and so is one that /proc does not show to this user. A caller whose record cannot come
 * from elsewhere, such as a lock in a local folder, says `here`: then another boot means that the
 * machine or container was started again since.
 */
export function isAlive(identity: ProcessIdentity, written: 'here' | 'anywhere' = 'anywhere'): Liveness {
  if (!sameBoot(identity)) return written === 'here' ? 'dead' : 'unknown';
  const startTime = startTimeOf(identity.pid);
  if (startTime === identity.startTime) return 'alive';
  return startTime === null && isHidden(identity.pid) ? 'unknown' : 'dead';
}

/**
 * Tells whether /proc hides the process: mounted with hidepid, or under ProtectProc, it does not
 * show other users' processes, but a signal still finds them.
 */
function isHidden(pid: number): boolean {
  if (!hasProc || procStat(pid) !== null) return false;
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

/**
 * Compares the whole boot id, which is unique in the world, without the host name, which changes
 * with a laptop's network. Eight characters of it need the host name too.
 */
function sameBoot({ bootId: boot, host }: ProcessIdentity): boolean {
  const current = bootId();
  if (boot === current && current !== UNKNOWN_BOOT) return true;
  return boot.length >= 8 && current.startsWith(boot) && host === hostName();
}

/**
 * Formats `host/boot/pid/start`, with the boot id shortened to 8 characters: the identity of a
 * Temporal worker.
 */
export function formatIdentity(identity: ProcessIdentity): string {
  return [identity.host, identity.bootId.slice(0, 8), identity.pid, identity.startTime].join('/');
}

/**
 * Returns null for a text that `formatIdentity` did not make: other people's workers have
 * identities too.
 */
export function parseIdentity(text: string): ProcessIdentity | null {
  const match = /^([^/]+)\/([0-9a-f-]{8})\/([1-9][0-9]{0,15})\/([^/]+)$/.exec(text);
  if (match === null) return null;
  const [, host = '', boot = '', pid = '', startTime = ''] = match;
  return { host, bootId: boot, pid: Number(pid), startTime };
}

function readOrNull(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}

function readOutputOf(command: string, args: readonly string[]): string | null {
  try {
    const env = { PATH: SYSTEM_PATH, LC_ALL: 'C', TZ: 'UTC' };
    return execFileSync(command, args, { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return null;
  }
}

/**
 * Names a process for ever within one machine: pids are reused, a pid with its start time and boot
 * is not.
 */
export type ChildRecord = { readonly pid: number; readonly startTime: string; readonly bootId: string };
