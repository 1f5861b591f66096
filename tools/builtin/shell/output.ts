// Words the end of a command as an answer for the model (L36).
// Waits for a command to end, or ends it: its time is up, or it is told to stop. Either way its
// processes are gone afterwards.
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { listErrorLines } from '../../../store/transcript/preview.ts';
import { killTree } from '../../../system/process/kill-tree.ts';
import type { ProcessTree } from '../../../system/process/spawn-tree.ts';
import type { TreeExit } from '../../../system/process/spawner.ts';
import type { SimpleCommand } from '../../shell-command.ts';
import type { ToolOutput } from '../../tool.ts';
import { dropPartialEnd, dropPartialStart } from '../files/encoding.ts';
import { decodePlain } from '../files/terminal-text.ts';
import { parseShell } from './parse-shell.ts';

/**
 * Words the result. A failure cancels the siblings of the call; a status that is an answer does
 * not.
 */
export function describeResult(
  command: string,
  timeoutMs: number,
  end: TreeEnd,
  output: ReturnType<BoundedOutput['ends']>,
): ToolOutput {
  const text = renderOutput(output);
  if (end.kind === 'stopped') return { content: text, isError: true, stopped: true };
  if (end.kind === 'timeout') {
    const note = `(timed out after ${timeoutMs} ms: all its processes were ended; it may have partly run)`;
    return { content: appendNote(text, note), isError: true, cancelsSiblings: true };
  }
  const { code, signal } = end.exit;
  if (code === 0) return { content: text };
  if (code !== null && isAnswerStatus(command, code)) return { content: appendNote(text, `(exit status ${code})`) };
  const note = code === null ? `(killed by ${signal})` : `(exit status ${code}${describeSignal(code)})`;
  return { content: appendNote(text, note), isError: true, cancelsSiblings: true };
}

function renderOutput({ head, tail, omitted, errors }: ReturnType<BoundedOutput['ends']>): string {
  if (omitted === 0) return dropLastNewlines(decodePlain(Buffer.concat([head, tail])));
  const except = errors.length === 0 ? '' : ', except for these lines';
  const note = `[… ${omitted.toLocaleString('en-US')} bytes left out: not kept anywhere${except} …]`;
  const important = errors.length === 0 ? [] : [...errors.map((line) => decodePlain(Buffer.from(line))), '[…]'];
  return [decodePlain(head), note, ...important, dropLastNewlines(decodePlain(tail))].join('\n');
}

/**
 * Drops newlines by hand: a regular expression would look from each of many newlines whether the
 * end is near.
 */
function dropLastNewlines(text: string): string {
  let end = text.length;
  while (text[end - 1] === '\n') end--;
  return text.slice(0, end);
}

function appendNote(text: string, note: string): string {
  return text === '' ? note : `${text}\n${note}`;
}

/** Names the signal that a shell reports by adding 128. */
function describeSignal(code: NonNullable<TreeExit['code']>): string {
  const found = Object.entries(constants.signals).find(([, number]) => number === code - 128);
  return found === undefined ? '' : `, as of a process killed by ${found[0]}`;
}

// Tells which exit statuses are answers and not failures: `grep` that finds nothing ends with 1
// (L36).
const ANSWERS_WITH_1 = new Set('[ cmp comm diff egrep fgrep grep pgrep rg test which command type'.split(' '));
/** Commands that may stand before such a command in a chain of `&&` and leave its 1 an answer. */
const LEAVES_ANSWER = new Set([...ANSWERS_WITH_1, 'cd', 'echo', 'printf', 'pwd', 'true']);

/**
 * Tells whether `status` is an answer of the command that gave it. A command that cannot be read
 * for certain has failed.
 */
export function isAnswerStatus(command: string, status: number): boolean {
  if (status !== 1) return status === 0;
  const commands = parseShell(command);
  const last = commands?.at(-1);
  if (commands === null || last === undefined || !ANSWERS_WITH_1.has(commandName(last))) return false;
  return listChainBefore(commands).every((earlier) => LEAVES_ANSWER.has(commandName(earlier)));
}

/**
 * Lists the commands whose failure would have ended the list before its last: those joined to it by
 * `&&`, each the end of its pipeline.
 */
function listChainBefore(commands: readonly SimpleCommand[]): readonly SimpleCommand[] {
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

function commandName({ words }: SimpleCommand): string {
  const [name, second] = words;
  return name?.text === 'git' && second?.text === 'grep' ? 'grep' : (name?.text ?? '');
}

/** Bytes kept of each end. Together they are also the most that is ever stored of one output. */
const KEPT_END = 4 * 1024 * 1024;
const MOST_ERRORS = 50;

type BoundedOutput = {
  /** Copies the bytes: the view may be reused. */
  add(bytes: Uint8Array): void;
  /**
   * Returns both ends; `omitted` is the number of bytes left out between them, `errors` the first
   * lines of those that look like errors.
   */
  ends(): {
    readonly head: Buffer;
    readonly tail: Buffer;
    readonly omitted: number;
    readonly errors: readonly string[];
  };
};

/**
 * Keeps the beginning and the end of an output of any length, in bounded memory, and the first
 * lines between them that look like errors. 1 GiB costs what 8 MiB do; nothing goes to disk.
 */
export function createBoundedOutput(keptEnd = KEPT_END): BoundedOutput {
  let head: Buffer = Buffer.alloc(0);
  let headLength = 0;
  let ring: Buffer = Buffer.alloc(0);
  let total = 0;
  /** Lines that look like errors, by where the bytes begin that held them. */
  let errors: readonly { readonly at: number; readonly text: string }[] = [];
  const noteErrors = (rest: Uint8Array, at: number): void => {
    if (errors.length >= MOST_ERRORS) return;
    const found = listErrorLines(Buffer.from(rest.buffer, rest.byteOffset, rest.byteLength).toString('utf8'));
    errors = [...errors, ...found.map(({ text }) => ({ at, text }))].slice(0, MOST_ERRORS);
  };
  const tailTotal = (): number => total - headLength;
  return {
    add(bytes) {
      const toHead = bytes.subarray(0, keptEnd - headLength);
      head = growBuffer(head, headLength + toHead.length, keptEnd);
      head.set(toHead, headLength);
      const before = tailTotal();
      headLength += toHead.length;
      total += bytes.length;
      if (toHead.length === bytes.length) return;
      ring = growBuffer(ring, tailTotal(), keptEnd);
      // Only the last `keptEnd` bytes can survive this call.
      const rest = bytes.subarray(toHead.length);
      noteErrors(rest, headLength + before);
      const newest = rest.subarray(Math.max(0, rest.length - keptEnd));
      const place = (before + rest.length - newest.length) % keptEnd;
      const first = newest.subarray(0, keptEnd - place);
      ring.set(first, place);
      ring.set(newest.subarray(first.length), 0);
    },
    ends() {
      const start = headLength === 0 ? head : head.subarray(0, headLength);
      const length = tailTotal();
      if (length <= keptEnd) return { head: start, tail: ring.subarray(0, length), omitted: 0, errors: [] };
      const oldest = length % keptEnd;
      const tail = dropPartialStart(Buffer.concat([ring.subarray(oldest), ring.subarray(0, oldest)]));
      const whole = dropPartialEnd(start);
      const cut = total - tail.length;
      const between = new Set(errors.filter(({ at }) => at < cut).map(({ text }) => text));
      return { head: whole, tail, omitted: cut - whole.length, errors: [...between] };
    },
  };
}

/**
 * Grows a buffer to at least `needed` bytes, at most `most`. It doubles, so that small outputs cost
 * little and large ones are not copied often.
 */
function growBuffer(buffer: Buffer, needed: number, most: number): Buffer {
  if (buffer.length >= Math.min(needed, most)) return buffer;
  const larger = Buffer.allocUnsafe(Math.min(most, Math.max(needed, 2 * buffer.length, 64 * 1024)));
  larger.set(buffer);
  return larger;
}

export type TreeEnd =
  { readonly kind: 'exit'; readonly exit: TreeExit } | { readonly kind: 'timeout' } | { readonly kind: 'stopped' };

type Supervision = {
  /** The id in the environment that the tree was started with. */
  readonly callId: string;
  /**
   * A pid namespace ends with its first process: the processes it leaves need no search, and its
   * leader is not the command.
   */
  readonly hasPidNamespace: boolean;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
};

/**
 * Milliseconds to wait, after the shell has ended, for output of the processes that it left
 * running.
 */
const DRAIN_MS = 200;
/** Milliseconds between SIGTERM and SIGKILL; with what follows, well under the 5 s of L48. */
const GRACE_MS = 1_500;

export async function superviseTree(tree: ProcessTree, supervision: Supervision): Promise<TreeEnd> {
  const { callId, hasPidNamespace } = supervision;
  const target = { callId, leader: tree.leader, fresh: true };
  const end = await awaitFirst(tree, supervision);
  if (end.kind === 'exit') {
    await Promise.race([tree.drained, sleep(DRAIN_MS)]);
    if (!hasPidNamespace) await killTree(target, { graceMs: GRACE_MS });
  } else {
    await killTree(target, { graceMs: GRACE_MS, spareLeader: hasPidNamespace });
  }
  // The bytes still in the pipe were written before the end; a process that cannot be killed may
  // keep it open for ever.
  await Promise.race([tree.drained, sleep(DRAIN_MS)]);
  tree.stopReading();
  return end;
}

async function awaitFirst(tree: ProcessTree, { signal, timeoutMs }: Supervision): Promise<TreeEnd> {
  let timer: NodeJS.Timeout | undefined;
  let stop: (() => void) | undefined;
  try {
    return await new Promise<TreeEnd>((resolve) => {
      stop = () => resolve({ kind: 'stopped' });
      timer = setTimeout(() => resolve({ kind: 'timeout' }), timeoutMs);
      signal.addEventListener('abort', stop, { once: true });
      if (signal.aborted) stop();
      void tree.exit.then((exit) => resolve({ kind: 'exit', exit }));
    });
  } finally {
    clearTimeout(timer);
    if (stop !== undefined) signal.removeEventListener('abort', stop);
  }
}
