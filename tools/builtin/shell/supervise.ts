// Waits for a command to end, or ends it: its time is up, or it is told to stop. Either way its
// processes are gone afterwards.
import { setTimeout as sleep } from 'node:timers/promises';
import { isAbsolute } from 'node:path';
import { killTree } from '../../../system/process/kill-tree.ts';
import type { ProcessTree } from '../../../system/process/spawn-tree.ts';
import type { TreeExit } from '../../../system/process/spawner.ts';
import { withGitSettings, type GitSettings } from '../../../system/process/environment.ts';
import { isInReach, type Reach } from '../../../system/process/places.ts';

export type TreeEnd =
  { readonly kind: 'exit'; readonly exit: TreeExit } | { readonly kind: 'timeout' } | { readonly kind: 'stopped' };

type Supervision = {
  /** As in the environment the tree was started with. */
  readonly callId: string;
  /**
   * A pid namespace ends with its first process: what it leaves behind needs no search, and its
   * leader is not the command.
   */
  readonly held: boolean;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
};

/** After the shell has ended, how long to wait for output of what it left running. */
const DRAIN_MS = 200;
/** Between SIGTERM and SIGKILL; with what follows, well under the 5 s of L48. */
const GRACE_MS = 1_500;

export async function supervise(tree: ProcessTree, supervision: Supervision): Promise<TreeEnd> {
  const { callId, held } = supervision;
  const target = { callId, leader: tree.leader, fresh: true };
  const end = await firstOf(tree, supervision);
  if (end.kind === 'exit') {
    await Promise.race([tree.drained, sleep(DRAIN_MS)]);
    if (!held) await killTree(target, { graceMs: GRACE_MS });
  } else {
    await killTree(target, { graceMs: GRACE_MS, spareLeader: held });
  }
  // The bytes still in the pipe were written before the end; a process that cannot be killed may
  // keep it open for ever.
  await Promise.race([tree.drained, sleep(DRAIN_MS)]);
  tree.stopReading();
  return end;
}

async function firstOf(tree: ProcessTree, { signal, timeoutMs }: Supervision): Promise<TreeEnd> {
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

// Keeps a command to what it was judged to be: the folder it works in is not trusted. Programs of
// one that only reads must not be found in it, nor in its git configuration where that can be
// overruled. Where it cannot, git-programs.ts looks.

type Environment = Readonly<Record<string, string>>;

const READING: GitSettings = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['log.showSignature', 'false'],
  ['gpg.program', 'false'],
  ['gpg.ssh.program', 'false'],
  ['gpg.x509.program', 'false'],
];

/**
 * In GBK, Big5 or Shift JIS a backslash may be half of a character: the shell must cut a command as
 * it was cut to be judged.
 */
const LOCALE = process.platform === 'darwin' ? 'en_US.UTF-8' : 'C.UTF-8';

/**
 * The environment of a command that does more than read. A rule that allows `git commit` means the
 * repository that is there, with its hooks and filters, and the PATH that is there.
 */
export function changingEnvironment(base: Environment): Environment {
  return withGitSettings({ ...base, LC_ALL: LOCALE });
}

export function readOnlyEnvironment(base: Environment, reach: Reach): Environment {
  const path = (base['PATH'] ?? '').split(':').filter((folder) => isAbsolute(folder) && !isInReach(reach, folder));
  const reading = {
    ...base,
    LC_ALL: LOCALE,
    PATH: path.join(':'),
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_LAZY_FETCH: '1',
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_PAGER: 'cat',
  };
  return withGitSettings(reading, READING);
}
