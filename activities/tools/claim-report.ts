// What the model is told about a call that was started once and has no result (L40): what is known, and no more.
import type { ProcessIdentity } from '../process-identity.ts';
import type { Stopped, Taken } from './claim.ts';
import { killTree, type Killed } from './process/kill-tree.ts';
import type { AbortCause } from './tool.ts';

/** `ran` is false when the last attempt is known to have been stopped before it called the tool. */
export type TakenReport = { readonly ran: boolean; readonly text: string };

/** Ends what is left of earlier attempts, when they ran here. */
export async function endLeftovers({ claim, child }: Taken, callId: string, host: ProcessIdentity): Promise<Leftovers> {
  if (claim.host.bootId !== host.bootId) return { here: false };
  const killed = await killTree({ callId, ...(child === undefined ? {} : { leader: child }) }, { graceMs: 0 });
  return { here: true, ...killed };
}

/** `here`: the same boot and pid namespace, the only place whose processes can be seen and ended. */
export type Leftovers = ({ readonly here: true } & Killed) | { readonly here: false };

/** What is known of the call, and no more. `extra` is a sentence of whoever was asked about it. */
export function reportTaken(taken: Taken, left: Leftovers, extra = ''): TakenReport {
  const { tool } = taken.claim;
  if (neverBegan(taken)) {
    const why = reason[(taken.stopped as Stopped).cause];
    return {
      ran: false,
      text: joined(`Not run: ${why} before ${tool} began.`, extra, 'Call it again if it is still needed.'),
    };
  }
  const known = `outcome unknown: ${started(taken)}${
    taken.stopped === undefined
      ? ' and its result was lost.'
      : `; ${reason[taken.stopped.cause]} ${taken.stopped.began ? 'while it ran' : 'before it began'}.`
  }`;
  const advice =
    'It may have taken effect wholly, partly or not at all. It was not run again: check before you repeat it.';
  return { ran: true, text: joined(known, remains(left), extra, advice) };
}

/** Of a call that was started once only: it has done nothing for certain. */
export function neverBegan({ stopped, generation }: Taken): boolean {
  return stopped?.began === false && generation === 1;
}

/** For the person who is asked whether to run it again. */
export function started({ claim, generation }: Taken): string {
  const times = generation === 1 ? '' : ` for the ${generation === 2 ? 'second' : 'third'} time`;
  return `${claim.tool} was started${times} at ${new Date(claim.at).toISOString()} on host "${claim.host.host}"`;
}

function joined(...sentences: readonly string[]): string {
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

const reason: Readonly<Record<AbortCause, string>> = {
  deploy: 'it was stopped by a worker shutdown',
  timeout: 'its attempt ran out of time',
  superseded: 'its attempt was given up',
  interrupt: 'it was interrupted',
  sibling: 'it was cancelled with its siblings',
};

function remains(left: Leftovers): string {
  if (!left.here)
    return 'Whether any of it still runs there cannot be seen from here: another machine, container or boot.';
  if (left.left > 0) return `${left.left} of its processes could not be ended.`;
  const { killed } = left;
  if (killed > 0)
    return `What was left of it (${killed} ${killed === 1 ? 'process' : 'processes'}) was ended just now.`;
  return 'No process of it is left on this host.';
}
