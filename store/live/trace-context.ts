// Derives the trace of a run, as a W3C trace context (O15): its caller's, where the message that
// opened it came with one, else its own. The ids of a run and of its iterations are made from the
// run's own id, so that spans of any worker on any host belong together without anything travelling
// between them, over crashes, handovers and replays.
import { createHash } from 'node:crypto';
import { callingSpan } from '../../workflows/contract/ids.ts';

/** `traceparent` comes from the message that opened the run. */
type TracedRun = { readonly queryId: string; readonly traceparent?: string };

/** Returns 32 hexadecimal digits, the same for every line and every span of a run. */
export function traceIdOf({ queryId, traceparent }: TracedRun): string {
  return callingSpan(traceparent)?.traceId ?? hashDigits(`trace ${queryId}`, 32);
}

export const runSpanOf = ({ queryId }: TracedRun): string => hashDigits(`run ${queryId}`, 16);

export const iterationSpanOf = ({ queryId }: TracedRun, iteration: number): string =>
  hashDigits(`iteration ${queryId} ${iteration}`, 16);

/** Returns the trace context for what an iteration calls. */
export function traceparentIn(run: TracedRun, iteration: number): string {
  return `00-${traceIdOf(run)}-${iterationSpanOf(run, iteration)}-01`;
}

function hashDigits(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
