// What a command's end means, in the words of an answer (L36).
import { constants } from 'node:os';
import type { TreeExit } from '../../../process/spawner.ts';
import type { ToolOutput } from '../../tool.ts';
import type { BoundedOutput } from './bounded-output.ts';
import { cleanText } from './clean-text.ts';
import { isAnswer } from './exit-status.ts';
import type { TreeEnd } from './supervise.ts';

/** A failure cancels the siblings of the call; a status that is an answer is none. */
export function bashResult(
  command: string,
  timeoutMs: number,
  end: TreeEnd,
  output: ReturnType<BoundedOutput['ends']>,
): ToolOutput {
  const text = textOf(output);
  if (end.kind === 'stopped') return { content: text, isError: true, stopped: true };
  if (end.kind === 'timeout') {
    const note = `(timed out after ${timeoutMs} ms: all its processes were ended; it may have partly run)`;
    return { content: withNote(text, note), isError: true, cancelsSiblings: true };
  }
  const { code, signal } = end.exit;
  if (code === 0) return { content: text };
  if (code !== null && isAnswer(command, code)) return { content: withNote(text, `(exit status ${code})`) };
  const note = code === null ? `(killed by ${signal})` : `(exit status ${code}${signalIn(code)})`;
  return { content: withNote(text, note), isError: true, cancelsSiblings: true };
}

function textOf({ head, tail, omitted }: ReturnType<BoundedOutput['ends']>): string {
  if (omitted === 0) return withoutLastNewlines(cleanText(Buffer.concat([head, tail])));
  const note = `[… ${omitted.toLocaleString('en-US')} bytes left out: not kept anywhere …]`;
  return [cleanText(head), note, withoutLastNewlines(cleanText(tail))].join('\n');
}

/** A regular expression would look from each of many newlines whether the end is near. */
function withoutLastNewlines(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\n') end--;
  return text.slice(0, end);
}

function withNote(text: string, note: string): string {
  return text === '' ? note : `${text}\n${note}`;
}

/** A shell tells of a signal by adding 128. */
function signalIn(code: NonNullable<TreeExit['code']>): string {
  const found = Object.entries(constants.signals).find(([, number]) => number === code - 128);
  return found === undefined ? '' : `, as of a process killed by ${found[0]}`;
}
