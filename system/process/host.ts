// This machine as calls and hooks see it: who we are, whether another process still lives, and
// ending the processes of a call.
import { bootId, isAlive, processIdentity, type Liveness, type ProcessIdentity } from './identity.ts';
import { killTree, type Killed, type KillTarget } from './kill-tree.ts';

export type Host = {
  /** This process: written into claims. */
  readonly identity: ProcessIdentity;
  /**
   * Whether the process was on this boot and in this pid namespace: the only place whose processes
   * can be seen and ended.
   */
  isHere(other: ProcessIdentity): boolean;
  /** `alive` and `dead` are proofs; what may not be seen from here is `unknown`. */
  liveness(other: ProcessIdentity): Liveness;
  /** SIGKILL for what is left of a call. */
  endTree(target: KillTarget): Promise<Killed>;
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
