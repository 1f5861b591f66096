// Separates messages of an MCP program from other words on its standard output: an answer behind
// such words is found, and a caller that waits in vain learns what came instead.
import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import { clip, onOneLine } from '../../system/text.ts';

const LONGEST_QUOTE = 200;
/** Places of a line at which an answer is looked for. */
const MOST_PLACES = 5;

const BYTE_ORDER_MARK = '\uFEFF';
const BELONGS = 'only messages belong on its standard output';

/** The beginning of a line that has not ended, and its bytes so far. */
export type OpenLine = { readonly head: string; readonly bytes: number };

type Found = { readonly message: JSONRPCMessage; readonly before: string };

/**
 * Reads a message from a line. `before` is what was printed in front of an answer; of requests and
 * notifications there only a log would speak. Throws the error of a line without any.
 */
export function readMessage(line: string, deserialize: (text: string) => JSONRPCMessage): Found {
  const text = line.startsWith(BYTE_ORDER_MARK) ? line.slice(1) : line;
  try {
    return { message: deserialize(text), before: '' };
  } catch (error) {
    for (const { index } of [...text.matchAll(/\{\s*"/g)].slice(0, MOST_PLACES)) {
      const message = index > 0 ? tryMessage(text.slice(index), deserialize) : null;
      if (message !== null && !('method' in message)) return { message, before: text.slice(0, index) };
    }
    throw error;
  }
}

function tryMessage(text: string, deserialize: (text: string) => JSONRPCMessage): JSONRPCMessage | null {
  try {
    return deserialize(text);
  } catch {
    return null;
  }
}

/** Tells whether what begins so can be a message; other lines are of no one's concern. */
export const isMessage = (head: string): boolean => head.trimStart().startsWith('{');

/** Remembers what came since the last message. Its sentences are the ends of one. */
export class PrintedWords {
  #last = '';
  readonly #warn: (problem: string) => void;

  constructor(warn: (problem: string) => void) {
    this.#warn = warn;
  }

  /** A message came, behind these words. */
  readMessage(before: string): void {
    this.#last = '';
    if (before.trim() !== '') this.#warn(`it prints ${quote(before)} in front of an answer: ${BELONGS}`);
  }

  readLine(line: string): void {
    this.#last = line.includes('\0')
      ? `it printed UTF-16, and messages are UTF-8`
      : `it printed ${quote(line)}: ${BELONGS}`;
    if (line.includes('\0')) this.#warn(this.#last);
  }

  /** A line is longer than any message. */
  readLong(line: OpenLine): void {
    if (!isMessage(line.head)) this.#warn(describeOpenLine(line));
  }

  describe(open: OpenLine): string {
    return open.bytes > 0 ? describeOpenLine(open) : this.#last;
  }
}

const describeOpenLine = ({ head, bytes }: OpenLine): string =>
  `it printed ${bytes} bytes without the end of a line, from ${quote(head)} on: each message is a line, and ${BELONGS}`;

const quote = (text: string): string => JSON.stringify(clip(onOneLine(text.trim()), LONGEST_QUOTE));
