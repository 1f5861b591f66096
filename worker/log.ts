// The one log of a worker that stays: JSON lines, on a terminal text for people. Secrets are taken out, and control characters escaped,
// of the whole line.
import { pino } from 'pino';
import { type Log, type LogFields, type LogLevel, logText } from '../activities/log.ts';
import { escapeUnseen, showUnseen } from '../activities/text.ts';
import { redactor } from './redact.ts';

type Stream = { readonly isTTY?: boolean | undefined; write(text: string): unknown };
type Line = LogFields & {
  readonly level: LogLevel;
  readonly time: string;
  readonly pid: number;
  readonly message: string;
};

/** `env`: whose secrets are not to be shown. */
export function workerLog(stream: Stream, env: Readonly<Record<string, string | undefined>>): Log {
  const redact = redactor(env);
  const write = (line: string): void => {
    const text = stream.isTTY === true ? readable(JSON.parse(line) as Line) : escapeUnseen(line.trimEnd());
    stream.write(`${redact(text)}\n`);
  };
  const options = {
    base: { pid: process.pid },
    messageKey: 'message',
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (level: string) => ({ level }) },
  };
  const logger = pino(options, { write });
  return (level, message, fields = {}) => logger[level](fields, message);
}

function readable({ level, time, message, ...line }: Line): string {
  const fields = Object.fromEntries(Object.entries(line).filter(([name]) => name !== 'pid'));
  const clock = new Date(time).toLocaleTimeString('en-GB');
  return showUnseen(`${clock} ${level.padEnd(5)} ${logText(message, fields)}`);
}
