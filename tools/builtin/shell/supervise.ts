// Waits for a command to end, or ends it: its time is up, or it is told to stop. Either way its
// processes are gone afterwards.
import { setTimeout as sleep } from 'node:timers/promises';
import { killTree } from '../../../system/process/kill-tree.ts';
import type { ProcessTree } from '../../../system/process/spawn-tree.ts';
import type { TreeExit } from '../../../system/process/spawner.ts';

export type TreeEnd =
  { readonly kind: 'exit'; readonly exit: TreeExit } | { readonly kind: 'timeout' } | { readonly kind: 'stopped' };

type Supervision = {
  /** The id in the environment that the tree was started with. */
  readonly callId: string;
  /**
   * A pid namespace ends with its first process: the processes it leaves need no search, and its
   * leader is not the command.
   */
  readonly hasPidNamespace: boolean;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
};

/**
 * Milliseconds to wait, after the shell has ended, for output of the processes that it left
 * running.
 */
const DRAIN_MS = 200;
/** Milliseconds between SIGTERM and SIGKILL; with what follows, well under the 5 s of L48. */
const GRACE_MS = 1_500;

export async function superviseTree(tree: ProcessTree, supervision: Supervision): Promise<TreeEnd> {
  const { callId, hasPidNamespace } = supervision;
  const target = { callId, leader: tree.leader, fresh: true };
  const end = await awaitFirst(tree, supervision);
  if (end.kind === 'exit') {
    await Promise.race([tree.drained, sleep(DRAIN_MS)]);
    if (!hasPidNamespace) await killTree(target, { graceMs: GRACE_MS });
  } else {
    await killTree(target, { graceMs: GRACE_MS, spareLeader: hasPidNamespace });
  }
  // The bytes still in the pipe were written before the end; a process that cannot be killed may
  // keep it open for ever.
  await Promise.race([tree.drained, sleep(DRAIN_MS)]);
  tree.stopReading();
  return end;
}

async function awaitFirst(tree: ProcessTree, { signal, timeoutMs }: Supervision): Promise<TreeEnd> {
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  try {
    return await new Promise<TreeEnd>((resolve) => {
      stop = () => resolve({ kind: 'stopped' });
      timer = setTimeout(() => resolve({ kind: 'timeout' }), timeoutMs);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      void tree.exit.then((exit) => resolve({ kind: 'exit', exit }));
    });
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}
