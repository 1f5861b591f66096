// Ends a call's processes, all of them: SIGTERM, a grace, SIGKILL (L48). A pid namespace does the
// last part by itself; without one the tree is found in /proc by group, session, descent and the
// mark in its environment (L40).
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { CALL_VARIABLE } from './environment.ts';
import {
  bootId,
  type ChildRecord,
  formatIdentity,
  isAlive,
  type Liveness,
  parseIdentity,
  processIdentity,
  type ProcessIdentity,
} from './identity.ts';
import { allProcesses, hasProc, processInfo, type ProcessInfo, readStartVariable, wasStartedWith } from './proc.ts';

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

// Names the processes that belong to a worker (hook commands, MCP servers, commands in the
// background, and its own helpers such as searches and git) after the worker that started them, and
// ends those of dead workers. SIGKILL leaves a worker no time to end anything: what did not end
// with it is found by its name before its work goes on elsewhere.
type Kind = 'bash' | 'helper' | 'hook' | 'mcp';

const PREFIX = /^(?:bash|helper|hook|mcp)\//;

/** Returns the value of CALL_VARIABLE for one process that this worker starts. */
export function ownProcessId(kind: Kind): string {
  return `${kind}/${formatIdentity(processIdentity())}/${randomUUID()}`;
}

/**
 * Ends the processes of workers on this machine that are provably gone. A living worker ends its
 * own.
 */
export async function endOrphans(): Promise<void> {
  const ids = allProcesses().map(({ pid }) => readStartVariable(pid, CALL_VARIABLE) ?? '');
  const orphaned = new Set(ids.filter(isOrphaned));
  await Promise.all([...orphaned].map((callId) => killTree({ callId }, { graceMs: 0 })));
}

function isOrphaned(id: string): boolean {
  if (!PREFIX.test(id)) return false;
  const worker = parseIdentity(id.replace(PREFIX, '').replace(/\/[^/]*$/, ''));
  return worker !== null && isAlive(worker) === 'dead';
}

// Ends the processes of hooks when this process exits, because they would outlive it. SIGKILL
// leaves no time for that.
export type ExitHandlers = {
  /** Runs `end` synchronously when the process exits. Call the returned function to unregister. */
  add(end: () => void): () => void;
};

/** Adds one exit listener to `process`, however many functions it is to run. */
export function createExitHandlers(process: Pick<NodeJS.Process, 'on' | 'off'>): ExitHandlers {
  const ends = new Set<() => void>();
  const endAll = (): void => ends.forEach((end) => end());
  return {
    add(end) {
      if (ends.size === 0) process.on('exit', endAll);
      ends.add(end);
      return () => {
        ends.delete(end);
        if (ends.size === 0) process.off('exit', endAll);
      };
    },
  };
}
