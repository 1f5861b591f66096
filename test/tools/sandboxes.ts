// The ways to hold a command that work on this machine, best first; `group` is always the last.
import { FILTERED } from '../../system/process/keyring-filter.mjs';
import { probeSandbox, type Sandbox } from '../../tools/sandbox.ts';

export async function workingSandboxes(): Promise<readonly Sandbox[]> {
  const tried = await Promise.all(
    (['bwrap', 'unshare', 'group'] as const).map((kind) =>
      probeSandbox({ kinds: [kind], unconfined: true }).catch(() => null),
    ),
  );
  return tried.filter((sandbox) => sandbox !== null);
}

/** As whoever starts it without the process that starts commands: nobody gives it the filter. */
export function unfiltered([program = '', ...args]: readonly string[]): readonly [program: string, ...args: string[]] {
  return [program, ...(args[0] === FILTERED[0] ? args.slice(FILTERED.length) : args)];
}
