// The port of a worker's log. Who writes the lines, and in which form, is the worker's affair.
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
  /** Of the model's tool_use. */
  readonly call?: string;
  /** The trace of the run: its caller's, else its own where runs are traced. */
  readonly trace?: string;
  readonly activity?: string;
  readonly stack?: string;
};

export type Log = (level: LogLevel, message: string, fields?: LogFields) => void;

type Run = {
  readonly session: string;
  readonly queryId: string;
  readonly depth: number;
  readonly run?: number;
  readonly traceparent?: string;
};

/** How a line names the run it is about (L13). */
export function aboutRun({ session, queryId: query, depth, run, traceparent }: Run): LogFields {
  return { session, query, depth, ...(run !== undefined && { run }), ...callersTrace(traceparent) };
}

/** Empty for a run that has a trace of its own. */
export function callersTrace(traceparent: string | undefined): Pick<LogFields, 'trace'> {
  const caller = callingSpan(traceparent);
  return caller === null ? {} : { trace: caller.traceId };
}

/** For people: the message and what it is about; a stack on lines of its own. */
export function logText(message: string, { stack, ...about }: LogFields = {}): string {
  const named = Object.entries(about).map(([name, value]) => `${name} ${value}`);
  return `${message}${named.length === 0 ? '' : ` (${named.join(', ')})`}${stack === undefined ? '' : `\n${stack}`}`;
}
