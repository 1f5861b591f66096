// Tells the model about a call that was started once and has no result (L40): known facts only.
import type { CallKey } from '../../workflows/contract/ids.ts';
import { callIdOf } from '../../system/process/environment.ts';
import { readChild, type StopRecord, type TakenCall } from './journal.ts';
import type { CallEnvironment } from './call-context.ts';
import type { KillResult } from '../../system/process/kill-tree.ts';
import type { AbortCause } from '../../tools/tool.ts';

/** `ran` is false when the last attempt is known to have been stopped before it called the tool. */
export type TakenReport = { readonly ran: boolean; readonly text: string };

/** Ends the processes that earlier attempts left, when they ran on this machine. */
export async function endLeftovers(
  { ofHost, host, session }: Pick<CallEnvironment, 'ofHost' | 'host' | 'session'>,
  key: CallKey,
  { claim, generation, stopped }: TakenCall,
): Promise<Leftovers> {
  if (!host.isHere(claim.host)) return { here: false, mayGoOn: false };
  const leader = await readChild(ofHost, { session, key }, generation);
  const killed = await host.endTree({ callId: callIdOf(key), ...(leader && { leader }) });
  const hasEnded = stopped !== undefined && stopped.hung !== true;
  const liveness = host.liveness(claim.host);
  const mayGoOn = !hasEnded && liveness !== 'dead';
  return liveness === 'unknown' ? { here: false, mayGoOn } : { here: true, ...killed, mayGoOn };
}

/**
 * `here`: its processes could be seen and ended. `mayGoOn`: the worker itself, which is not ended,
 * still lives on this machine and has not said that its tool came back. Frozen or cut off, it may
 * still do what a check does not find done.
 */
export type Leftovers =
  | ({ readonly here: true; readonly mayGoOn: boolean } & KillResult)
  | { readonly here: false; readonly mayGoOn: boolean };

/** Says, for the model and for a person who is asked, that the first worker may still live. */
export function describeLivingWorker({ claim }: TakenCall): string {
  return `the worker that started it (process ${claim.host.pid}) is not known to be gone and may yet go on with it`;
}

/**
 * Reports the known facts of a started call. `extra` is a sentence from the person or check that
 * was asked.
 */
export function describeTakenCall(claimed: TakenCall, left: Leftovers, extra = ''): TakenReport {
  const { tool } = claimed.claim;
  if (hasNotBegun(claimed)) {
    const why = CAUSE_WORDS[(claimed.stopped as StopRecord).cause];
    return {
      ran: false,
      text: joinSentences(`Not run: ${why} before ${tool} began.`, extra, 'Call it again if it is still needed.'),
    };
  }
  const known = `outcome unknown: ${describeStart(claimed)}${
    claimed.stopped === undefined
      ? ' and its result was lost.'
      : `; ${CAUSE_WORDS[claimed.stopped.cause]} ${claimed.stopped.began ? 'while it ran' : 'before it began'}.`
  }`;
  const advice =
    'It may have taken effect wholly, partly or not at all. It was not run again: check before you repeat it.';
  return { ran: true, text: joinSentences(known, describeRemains(left), extra, advice) };
}

/** Tells whether the call was started once only, and has certainly done nothing. */
function hasNotBegun({ stopped, generation }: TakenCall): boolean {
  return stopped?.began === false && generation === 1;
}

/** Describes the start for the person who is asked whether to run the call again. */
export function describeStart({ claim, generation }: TakenCall): string {
  const times = generation === 1 ? '' : ` for the ${generation === 2 ? 'second' : 'third'} time`;
  return `${claim.tool} was started${times} at ${new Date(claim.at).toISOString()} on host "${claim.host.host}"`;
}

function joinSentences(...sentences: readonly string[]): string {
  return sentences.filter((sentence) => sentence !== '').join(' ');
}

const CAUSE_WORDS: Readonly<Record<AbortCause, string>> = {
  deploy: 'it was stopped by a worker shutdown',
  timeout: 'its attempt ran out of time',
  superseded: 'its attempt was given up',
  interrupt: 'it was interrupted',
  sibling: 'it was cancelled with its siblings',
};

function describeRemains(left: Leftovers): string {
  if (!left.here)
    return 'Whether any of it still runs there cannot be seen from here: another machine, container, boot or user.';
  if (left.left > 0) return `${left.left} of its processes could not be ended.`;
  const { killed } = left;
  if (killed > 0)
    return `What was left of it (${killed} ${killed === 1 ? 'process' : 'processes'}) was ended just now.`;
  return 'No process of it is left on this host.';
}
