// The trace of a run, in the words of W3C's trace context (O15): its caller's, where the message
// that opened it came with one, else its own. The ids of a run and of its iterations are made from
// the run's own, so that spans of any worker on any host belong together without anything
// travelling between them: over crashes, handovers and replays.
import { createHash } from 'node:crypto';
import { callingSpan } from '../../workflows/contract/ids.ts';

/** `traceparent`: of the message that opened the run. */
export type TracedRun = { readonly queryId: string; readonly traceparent?: string };

/** 32 hexadecimal digits: every line and every span of a run has the same. */
export function traceIdOf({ queryId, traceparent }: TracedRun): string {
  return callingSpan(traceparent)?.traceId ?? digest(`trace ${queryId}`, 32);
}

export const runSpanOf = ({ queryId }: TracedRun): string => digest(`run ${queryId}`, 16);

export const iterationSpanOf = ({ queryId }: TracedRun, iteration: number): string =>
  digest(`iteration ${queryId} ${iteration}`, 16);

/** For what an iteration calls: it is a part of it. */
export function traceparentIn(run: TracedRun, iteration: number): string {
  return `00-${traceIdOf(run)}-${iterationSpanOf(run, iteration)}-01`;
}

function digest(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
