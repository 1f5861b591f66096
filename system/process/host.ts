// This machine as calls and hooks see it: the identity of this process, whether another still
// lives, and how to end the processes of a call.
import { bootId, isAlive, processIdentity, type Liveness, type ProcessIdentity } from './identity.ts';
import { killTree, type KillResult, type KillTarget } from './kill-tree.ts';

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
