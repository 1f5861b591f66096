// The port of a worker's log. The worker decides where the lines go, and in which form.
import { present } from '../workflows/contract/present.ts';
import { callingSpan } from '../workflows/contract/ids.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

/** The subject of a line, as far as it is known. */
export type LogFields = {
  readonly session?: string;
  readonly query?: string;
  readonly depth?: number;
  readonly run?: number;
  readonly iteration?: number;
  readonly step?: number;
  readonly attempt?: number;
  /** The id of the model's tool_use. */
  readonly call?: string;
  /** The id of the caller's trace, else of the run's own where runs are traced. */
  readonly trace?: string;
  readonly activity?: string;
  readonly stack?: string;
};

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

type LoggedRun = {
  readonly session: string;
  readonly queryId: string;
  readonly depth: number;
  readonly run?: number;
  readonly traceparent?: string;
};

/** Returns the fields by which a line names its run (L13). */
export function runFields({ session, queryId: query, depth, run, traceparent }: LoggedRun): LogFields {
  return { session, query, depth, ...present({ run }), ...callerTraceField(traceparent) };
}

/** Returns nothing for a run that has a trace of its own. */
export function callerTraceField(traceparent: string | undefined): Pick<LogFields, 'trace'> {
  const caller = callingSpan(traceparent);
  return caller === null ? {} : { trace: caller.traceId };
}

/**
 * Formats a line for people: the message, its fields in parentheses, and a stack on lines of its
 * own.
 */
export function formatLog(message: string, { stack, ...about }: LogFields = {}): string {
  const named = Object.entries(about).map(([name, value]) => `${name} ${value}`);
  return `${message}${named.length === 0 ? '' : ` (${named.join(', ')})`}${stack === undefined ? '' : `\n${stack}`}`;
}
