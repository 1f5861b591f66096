// The ways to hold a command that work on this machine, best first; `group` is always the last.
import { probeSandbox, type Sandbox } from '../../../activities/tools/sandbox.ts';

export async function workingSandboxes(): Promise<readonly Sandbox[]> {
  const tried = await Promise.all(
    (['bwrap', 'unshare', 'group'] as const).map((kind) => probeSandbox({ kinds: [kind] }).catch(() => null)),
  );
  return tried.filter((sandbox) => sandbox !== null);
}
