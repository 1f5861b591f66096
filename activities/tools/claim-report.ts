// What the model is told about a call that was started once and has no result (L40): what is known, and no more.
import type { ProcessIdentity } from '../process-identity.ts';
import type { Claim, ClaimResult } from './claim.ts';
import { killTree, type Killed } from './process/kill-tree.ts';
import type { AbortCause } from './tool.ts';

export type Taken = Extract<ClaimResult, { kind: 'taken' }>;

/** `ran` is false when the first attempt is known to have been stopped before it called the tool. */
export type TakenReport = { readonly ran: boolean; readonly text: string };

/** Kills what is left of the first attempt on this host, then says what is known of it. */
export async function reportTaken(taken: Taken, callId: string, host: ProcessIdentity): Promise<TakenReport> {
  if (taken.stopped?.began === false) {
    const why = reason[taken.stopped.cause];
    return {
      ran: false,
      text: `Not run: ${why} before ${taken.claim.tool} began. Call it again if it is still needed.`,
    };
  }
  const here = taken.claim.host.bootId === host.bootId;
  const leader = taken.child === undefined ? {} : { leader: taken.child };
  const killed = here ? await killTree({ callId, ...leader }, { graceMs: 0 }) : { killed: 0, left: 0 };
  const known =
    taken.stopped === undefined
      ? `outcome unknown: ${taken.claim.tool} was started ${when(taken.claim)} and its result was lost.`
      : `outcome unknown: ${taken.claim.tool} was started ${when(taken.claim)}; ${reason[taken.stopped.cause]} while it ran.`;
  const advice =
    'It may have taken effect wholly, partly or not at all. It was not run again: check before you repeat it.';
  return { ran: true, text: `${known} ${remains(here, killed)} ${advice}` };
}

const reason: Readonly<Record<AbortCause, string>> = {
  deploy: 'it was stopped by a worker shutdown',
  timeout: 'its attempt ran out of time',
  superseded: 'its attempt was given up',
  interrupt: 'it was interrupted',
  sibling: 'it was cancelled with its siblings',
};

function when(claim: Claim): string {
  return `at ${new Date(claim.at).toISOString()} on host "${claim.host.host}"`;
}

/** `here`: the same boot and pid namespace, the only place whose processes can be seen and ended. */
function remains(here: boolean, { killed, left }: Killed): string {
  if (!here) return 'Whether any of it still runs there cannot be seen from here: another machine, container or boot.';
  if (left > 0) return `${left} of its processes could not be ended.`;
  if (killed > 0)
    return `What was left of it (${killed} ${killed === 1 ? 'process' : 'processes'}) was ended just now.`;
  return 'No process of it is left on this host.';
}
