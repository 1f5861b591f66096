// Words the end of a command as an answer for the model (L36).
import { constants } from 'node:os';
import type { TreeExit } from '../../../system/process/spawner.ts';
import type { SimpleCommand } from '../../shell-command.ts';
import type { ToolOutput } from '../../tool.ts';
import type { TreeEnd } from './supervise.ts';
import { dropPartialEnd, dropPartialStart } from '../files/lines.ts';
import { parseShell } from './parse-shell.ts';

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

// The beginning and the end of an output of any length, in bounded memory. 1 GiB costs what 8 MiB
// do; nothing goes to disk.

/** Bytes kept of each end. Together they are also the most that is ever stored of one output. */
const KEPT_END = 4 * 1024 * 1024;

type BoundedOutput = {
  /** Copies: the view may be reused. */
  add(bytes: Uint8Array): void;
  /** Without what was left out between them; `omitted` is how many bytes that was. */
  ends(): { readonly head: Buffer; readonly tail: Buffer; readonly omitted: number };
};

export function createBoundedOutput(keptEnd = KEPT_END): BoundedOutput {
  let head: Buffer = Buffer.alloc(0);
  let headLength = 0;
  let ring: Buffer = Buffer.alloc(0);
  let total = 0;
  const tailTotal = (): number => total - headLength;
  return {
    add(bytes) {
      const toHead = bytes.subarray(0, keptEnd - headLength);
      head = grown(head, headLength + toHead.length, keptEnd);
      head.set(toHead, headLength);
      const before = tailTotal();
      headLength += toHead.length;
      total += bytes.length;
      if (toHead.length === bytes.length) return;
      ring = grown(ring, tailTotal(), keptEnd);
      // Only the last `keptEnd` bytes can survive this call.
      const rest = bytes.subarray(toHead.length);
      const kept = rest.subarray(Math.max(0, rest.length - keptEnd));
      const place = (before + rest.length - kept.length) % keptEnd;
      const first = kept.subarray(0, keptEnd - place);
      ring.set(first, place);
      ring.set(kept.subarray(first.length), 0);
    },
    ends() {
      const start = headLength === 0 ? head : head.subarray(0, headLength);
      const length = tailTotal();
      if (length <= keptEnd) return { head: start, tail: ring.subarray(0, length), omitted: 0 };
      const oldest = length % keptEnd;
      const tail = dropPartialStart(Buffer.concat([ring.subarray(oldest), ring.subarray(0, oldest)]));
      const whole = dropPartialEnd(start);
      return { head: whole, tail, omitted: total - whole.length - tail.length };
    },
  };
}

/**
 * At least `needed` long, at most `most`: doubled, so that small outputs cost little and large ones
 * are not copied often.
 */
function grown(buffer: Buffer, needed: number, most: number): Buffer {
  if (buffer.length >= Math.min(needed, most)) return buffer;
  const larger = Buffer.allocUnsafe(Math.min(most, Math.max(needed, 2 * buffer.length, 64 * 1024)));
  larger.set(buffer);
  return larger;
}

// Output for a terminal that does not exist, as text for a model: no colours, no cursor movement,
// no NUL.

/* oxlint-disable no-control-regex */
const ESCAPES = new RegExp(
  [
    '\\u001b\\][^\\u0007\\u001b\\n]{0,4096}(?:\\u0007|\\u001b\\\\)', // title and links: until a bell or ESC \
    '\\u001b\\[[0-?]*[ -/]*[@-~]', // colour, cursor, modes
    '\\u001b[PX^_][^\\u001b\\n]{0,4096}\\u001b\\\\', // device strings
    '\\u001b[ -/]*[0-~]', // two or three characters
  ].join('|'),
  'g',
);
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
/* oxlint-enable no-control-regex */

/**
 * Line ends become LF: a carriage return alone, as of a progress bar, starts a new line. What is no
 * UTF-8 becomes U+FFFD.
 */
export function cleanText(bytes: Buffer): string {
  return bytes
    .toString('utf8')
    .replaceAll(ESCAPES, '')
    .replaceAll(/\r+\n?/g, '\n')
    .replaceAll(CONTROLS, '');
}

// Which exit statuses are answers and not failures: `grep` that finds nothing ends with 1 (L36).

const ANSWERS_WITH_1 = new Set('[ cmp comm diff egrep fgrep grep pgrep rg test which command type'.split(' '));
/** Commands that may stand before such a command in a chain of `&&` and leave its 1 an answer. */
const NEVER_MIND = new Set([...ANSWERS_WITH_1, 'cd', 'echo', 'printf', 'pwd', 'true']);

/**
 * Whether `status` is an answer of the command that gave it. What cannot be read for certain is a
 * failure.
 */
export function isAnswer(command: string, status: number): boolean {
  if (status !== 1) return status === 0;
  const commands = parseShell(command);
  const last = commands?.at(-1);
  if (commands === null || last === undefined || !ANSWERS_WITH_1.has(nameOf(last))) return false;
  return chainBefore(commands).every((earlier) => NEVER_MIND.has(nameOf(earlier)));
}

/**
 * The commands whose failure would have ended the list before its last: those joined to it by `&&`,
 * each the end of its pipeline.
 */
function chainBefore(commands: readonly SimpleCommand[]): readonly SimpleCommand[] {
  const chain: SimpleCommand[] = [];
  let joint = commands.at(-1)?.joint;
  for (let at = commands.length - 2; at >= 0; at--) {
    const command = commands[at] as SimpleCommand;
    if (joint === '&&') chain.push(command);
    else if (joint !== '|') break;
    joint = command.joint;
  }
  return chain;
}

function nameOf({ words }: SimpleCommand): string {
  const [name, second] = words;
  return name?.text === 'git' && second?.text === 'grep' ? 'grep' : (name?.text ?? '');
}
