// The log of a long-running worker: JSON lines, or text for people on a terminal. Secrets are
// removed from the whole line, and control characters escaped.
import { openSync, writeSync } from 'node:fs';
import { pino } from 'pino';
import { type Log, type LogFields, type LogLevel, formatLog } from '../system/log.ts';
import { escapeUnseen, showUnseen, reasonOf } from '../system/text.ts';
import { formatIdentity, processIdentity } from '../system/process/identity.ts';
import { SetupProblem } from '../system/setup-problem.ts';
import { createRedactor } from './redact.ts';

type Stream = { readonly isTTY?: boolean | undefined; write(text: string): unknown };
type Line = LogFields & {
  readonly level: LogLevel;
  readonly time: string;
  readonly pid: number;
  /** The worker's identity, as in Temporal's history. */
  readonly worker: string;
  readonly message: string;
};

/**
 * Without `format` a terminal gets text, other streams JSON. Lines below `level` are left out;
 * absent: `info`.
 */
export type LogOptions = { readonly level?: LogLevel; readonly format?: LogFormat };

export type LogFormat = 'json' | 'text';

/** Creates the log. The secrets of `env` are hidden in it. */
export function createWorkerLog(
  stream: Stream,
  env: Readonly<Record<string, string | undefined>>,
  options: LogOptions = {},
): Log {
  const redact = createRedactor(env);
  const { level: least = 'info', format = stream.isTTY === true ? 'text' : 'json' } = options;
  const write = (line: string): void => {
    const text = format === 'text' ? formatForPeople(JSON.parse(line) as Line) : escapeUnseen(line.trimEnd());
    stream.write(`${redact(text)}\n`);
  };
  const loggerOptions = {
    level: least,
    base: { pid: process.pid, worker: formatIdentity(processIdentity()) },
    messageKey: 'message',
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
  };
  const logger = pino(loggerOptions, { write });
  return (level, message, fields = {}) => logger[level](fields, message);
}

function formatForPeople({ level, time, message, ...line }: Line): string {
  const fields = Object.fromEntries(Object.entries(line).filter(([name]) => name !== 'pid' && name !== 'worker'));
  const clock = new Date(time).toLocaleTimeString('en-GB');
  return showUnseen(`${clock} ${level.padEnd(5)} ${formatLog(message, fields)}`);
}

/**
 * Opens a stream that appends each line to a file at once: the file may be copied and truncated
 * while it is written (`copytruncate`). Throws SetupProblem when it cannot be opened; a line that
 * cannot be written goes to `instead`, with the reason once.
 */
export function openLogStream(path: string, instead: Stream): Stream {
  const file = openLogFile(path);
  let failed = false;
  return {
    write: (text) => {
      try {
        writeSync(file, text);
        failed = false;
      } catch (error) {
        if (!failed) instead.write(`the log file ${path} cannot be written (${reasonOf(error)}): lines go here\n`);
        failed = true;
        instead.write(text);
      }
    },
  };
}

function openLogFile(path: string): number {
  try {
    return openSync(path, 'a', 0o600);
  } catch (error) {
    throw new SetupProblem(`the log file ${path} cannot be opened (${reasonOf(error)}): give another one`, {
      cause: error,
    });
  }
}
