// Ends a call's processes, all of them: SIGTERM, a grace, SIGKILL (L48). A pid namespace does the
// last part by itself; without one the tree is found in /proc by group, session, descent and the
// mark in its environment (L40).
import { setTimeout as sleep } from 'node:timers/promises';
import { bootId, type ChildRecord, isAlive, processIdentity, type Liveness, type ProcessIdentity } from './identity.ts';
import { CALL_VARIABLE } from './environment.ts';
import { hasProc, allProcesses, processInfo, wasStartedWith, type ProcessInfo } from './proc.ts';

export type KillTarget = {
  /** The value of CALL_VARIABLE that the tree was started with. */
  readonly callId: string;
  readonly leader?: ChildRecord;
  /**
   * The caller started the leader, and it still runs or has only just ended: the group is the
   * caller's own, with all that are left in it.
   */
  readonly fresh?: boolean;
};

type KillOptions = {
  /** Milliseconds between SIGTERM and SIGKILL; 0 sends only SIGKILL. */
  readonly graceMs: number;
  /**
   * The leader is a sandbox's own process: without it the rest dies at once, so it is left out of
   * SIGTERM.
   */
  readonly spareLeader?: boolean;
};

export type KillResult = { readonly killed: number; readonly left: number };

const POLL_MS = 20;
/** A process that SIGKILL has not ended by then is stuck in the kernel. */
const GIVE_UP_MS = 2_500;
const EXIT_MS = 500;

/** Ends the tree. Returns how many processes ended, and how many outlived SIGKILL. */
export async function killTree(target: KillTarget, options: KillOptions): Promise<KillResult> {
  if (!hasProc) return killGroup(target, options);
  const known = new Set<number>();
  if (options.graceMs > 0) {
    const spared = options.spareLeader === true ? target.leader?.pid : undefined;
    const found = findMembers(target);
    for (const member of found) known.add(member.pid);
    signalAll(
      found.filter((member) => member.pid !== spared),
      'SIGTERM',
    );
    await waitUntilGone(found, options.graceMs);
  }
  const deadline = performance.now() + GIVE_UP_MS;
  let left = findMembers(target);
  // Search again each time: a process may have forked while it was being killed.
  while (left.length > 0 && performance.now() < deadline) {
    for (const member of left) known.add(member.pid);
    signalAll(left, 'SIGKILL');
    await waitUntilGone(left, 500);
    left = findMembers(target);
  }
  return { killed: known.size - left.length, left: left.length };
}

/**
 * Sends SIGKILL without timers, for a caller that is about to exit. Blocks for at most half a
 * second. Without /proc it kills the leader's group alone.
 */
export function killNow(target: KillTarget): void {
  if (!hasProc) {
    if (target.leader !== undefined && target.fresh === true) trySignal(-target.leader.pid, 'SIGKILL');
    return;
  }
  const deadline = performance.now() + EXIT_MS;
  let left = findMembers(target);
  while (left.length > 0 && performance.now() < deadline) {
    signalAll(left, 'SIGKILL');
    left = findMembers(target);
  }
}

/**
 * Finds the living processes of the tree. A stranger that got a dead leader's pid is never among
 * them.
 */
function findMembers(target: KillTarget): ProcessInfo[] {
  const all = allProcesses().filter((info) => info.pid !== process.pid);
  const marked = all.filter((info) => wasStartedWith(info.pid, `${CALL_VARIABLE}=${target.callId}`));
  const found = new Set([...marked, ...findGroupOfLeader(all, marked, target)]);
  const pids = new Set([...found].map((info) => info.pid));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const info of all) {
      if (!pids.has(info.parent) || found.has(info)) continue;
      found.add(info);
      pids.add(info.pid);
    }
  }
  return [...found];
}

function findGroupOfLeader(
  all: readonly ProcessInfo[],
  marked: readonly ProcessInfo[],
  { leader, fresh }: KillTarget,
): readonly ProcessInfo[] {
  if (leader === undefined || leader.startTime === '' || leader.bootId !== bootId()) return [];
  const alive = all.find((info) => info.pid === leader.pid);
  if (alive !== undefined && alive.startTime !== leader.startTime) return [];
  const group = all.filter((info) => info.group === leader.pid || info.session === leader.pid);
  // With the leader gone, a stranger may have led a group of this number since: one marked member
  // says that it is ours.
  const isOwn = alive !== undefined || fresh === true || group.some((info) => marked.includes(info));
  return isOwn ? group : [];
}

async function waitUntilGone(processes: readonly ProcessInfo[], withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  while (processes.some(isStillRunning) && performance.now() < deadline) await sleep(POLL_MS);
}

function isStillRunning(known: ProcessInfo): boolean {
  return processInfo(known.pid)?.startTime === known.startTime;
}

function signalAll(processes: readonly ProcessInfo[], signal: NodeJS.Signals): void {
  for (const { pid } of processes) trySignal(pid, signal);
}

/** Returns false when the process is gone, or is not ours to signal. */
function trySignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === 'ESRCH' || code === 'EPERM') return false;
    throw error;
  }
}

/**
 * Signals the group alone, and only where the caller started its leader: without /proc nothing
 * tells a stranger's process from ours.
 */
async function killGroup({ leader, fresh }: KillTarget, { graceMs }: KillOptions): Promise<KillResult> {
  if (leader === undefined || fresh !== true) return { killed: 0, left: 0 };
  if (!trySignal(-leader.pid, 'SIGTERM')) return { killed: 0, left: 0 };
  const deadline = performance.now() + graceMs;
  while (trySignal(-leader.pid, 0) && performance.now() < deadline) await sleep(POLL_MS);
  trySignal(-leader.pid, 'SIGKILL');
  return { killed: 1, left: 0 };
}

export type Host = {
  /** Identifies this process in claims. */
  readonly identity: ProcessIdentity;
  /**
   * Tells whether the process was started in this boot and pid namespace: only those can be seen
   * and ended from here.
   */
  isHere(other: ProcessIdentity): boolean;
  /** `alive` and `dead` are proofs; a process that may not be seen from here is `unknown`. */
  liveness(other: ProcessIdentity): Liveness;
  /** Sends SIGKILL to what is left of a call. */
  endTree(target: KillTarget): Promise<KillResult>;
};

export function thisHost(): Host {
  const identity = processIdentity();
  return {
    identity,
    isHere: (other) => other.bootId === bootId(),
    liveness: (other) => isAlive(other),
    endTree: (target) => killTree(target, { graceMs: 0 }),
  };
}
