// The words that the model is given about a command in the background, and that people are shown of
// them.
import { onOneLine, quoteLines } from '../../../system/text.ts';
import { dropPartialEnd, dropPartialStart } from '../files/encoding.ts';
import type { BackgroundEnd, BackgroundRecord } from '../../../system/process/background-files.ts';
import { renderTerminal } from '../files/terminal-text.ts';

export function describeStarted(id: string): string {
  return `It runs in the background as ${id}, until it ends, bash_stop ends it, or this session ends. You are told when it has ended.`;
}

/**
 * Returns the id of the command that a call's result says was started; null in any other result.
 */
export function readStartedId(result: string): string | null {
  const id = /^It runs in the background as (bg-[0-9a-f]{8}),/.exec(result)?.[1];
  return id !== undefined && result === describeStarted(id) ? id : null;
}

/** Names the source that the end of a command is told by. */
export const sourceName = (id: string): string => `command ${id} in the background`;

/** Decodes output, cut where characters begin and end. */
export function decodeOutput(bytes: Buffer): string {
  return renderTerminal(dropPartialEnd(dropPartialStart(bytes)));
}

export function describeEnded(record: BackgroundRecord, how: BackgroundEnd, last: Buffer): string {
  const words = `${describeCommand(record)} ${describeCommandEnd(how)}.`;
  const text = decodeOutput(last).trim();
  return text === ''
    ? `${words} It wrote nothing that is kept.`
    : `${words} The end of its output:\n${quoteLines(text)}`;
}

/** Prints the beginning of a command on one line. */
export function describeCommand({ id, command }: Pick<BackgroundRecord, 'id' | 'command'>): string {
  const line = onOneLine(command).trim();
  return `${id} (${line.length > 100 ? `${line.slice(0, 100)}…` : line})`;
}

export function describeCommandEnd(how: BackgroundEnd): string {
  switch (how.kind) {
    case 'exit':
      return how.code === null ? `was killed by ${how.signal}` : `has ended with exit status ${how.code}`;
    case 'lost':
      return 'is gone: its worker has died, and it with it. Start it again if it is needed';
    case 'stopped':
      return STOP_WORDS[how.by];
  }
}

const STOP_WORDS = {
  agent: 'was ended by bash_stop',
  session: 'was ended with its session',
  worker: 'was ended, for its worker was shut down. Start it again if it is needed',
  output: 'was ended, for no more of its output can be kept: it has written 1 GiB, or the disk is full',
} as const;
