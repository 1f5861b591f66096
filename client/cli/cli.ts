// A command's view of its process. Standard output carries the answer, standard error everything else.
import { createInterface } from 'node:readline';
import type { Env } from '../../worker/embedded/data-folder.ts';
import { reasonOf, showUnseen } from '../../activities/text.ts';
import { redactor } from '../../worker/redact.ts';
import { utf8Text } from '../../worker/config/read-named-file.ts';
import { type Paint, paint } from '../paint.ts';
import { type BottomLine, bottomLine } from '../render/bottom-line.ts';
import { UsageError } from './errors.ts';

export type Cli = {
  readonly env: Env;
  /** Absolute: what relative paths are relative to. Throws UsageError when it is gone. */
  readonly cwd: () => string;
  /** How this program is called, for hints. */
  readonly self: string;
  /** To standard output, as it is. */
  readonly print: (text: string) => void;
  /** One line to standard error, for a person. */
  readonly say: (line: string) => void;
  readonly verbose: boolean;
  /** Colours for standard output, and for standard error: none unless each is a terminal. */
  readonly out: Paint;
  readonly err: Paint;
  /** Standard output is a terminal, whether it has colours or not. */
  readonly isTerminal: boolean;
  /** Of the terminal that standard output is. */
  readonly size: () => { readonly rows: number; readonly columns: number };
  /** Below what is written; null unless both outputs are terminals with colours. */
  readonly bottom: BottomLine | null;
  /** Standard input as text. Throws UsageError when it is none. */
  readonly readInput: () => Promise<string>;
  /** Asks the person at the terminal; null when there is none. */
  readonly readLine: ReadLine | null;
  /** Aborted when nobody reads standard output any more. */
  readonly unread: AbortSignal;
  /** How the command ended. */
  readonly exit: (status: number) => void;
};

export type Io = Pick<NodeJS.Process, 'stdout' | 'stderr' | 'stdin' | 'env' | 'cwd'>;

/** `exit` is told the status; the process ends when its command has cleaned up. */
export function cliOf(io: Io, verbose: boolean, exit: (status: number) => void): Cli {
  const { stdout, stderr, stdin, env } = io;
  const unread = new AbortController();
  // A reader that went away (`| head`) is no failure. Without a listener the error would end the process.
  stdout.on('error', () => unread.abort());
  stderr.on('error', () => undefined);
  const [out, err] = [paint(stdout, env), paint(stderr, env)];
  const write = (text: string): unknown => stderr.write(text);
  const bottom = out.on && err.on ? bottomLine({ write, columns: () => stderr.columns, style: err.dim }) : null;
  const above = (text: string, to: (text: string) => unknown): void =>
    void (bottom ? bottom.above(text, to) : to(text));
  const redact = redactor(env);
  return {
    env,
    cwd: () => workingDirectory(io),
    // Called through npm it is not on PATH.
    self: env['npm_command'] ? 'npx perdure' : 'perdure',
    print: (text) => void (unread.signal.aborted || above(text, (words) => stdout.write(words))),
    say: (line) => above(`${err.dim(showUnseen(redact(line)))}\n`, write),
    verbose,
    out,
    isTerminal: stdout.isTTY,
    size: () => ({ rows: stdout.rows, columns: stdout.columns }),
    bottom,
    err,
    readInput: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of stdin) chunks.push(chunk as Uint8Array);
      return inputText(Buffer.concat(chunks));
    },
    readLine: withoutBottom(terminalLine(io), bottom),
    unread: unread.signal,
    exit,
  };
}

function inputText(bytes: Buffer): string {
  try {
    return utf8Text(bytes);
  } catch (error) {
    throw new UsageError(`standard input cannot be read (${reasonOf(error)}): pipe text in as UTF-8`);
  }
}

function workingDirectory(io: Io): string {
  try {
    return io.cwd();
  } catch {
    throw new UsageError('the current directory no longer exists: change to another one');
  }
}

// One line from the person at the terminal. The terminal stays as it is, so that Ctrl-C means what it meant.

type ReadLine = (question: string, signal: AbortSignal) => Promise<string | null>;

/** A question has the last line for itself. */
function withoutBottom(readLine: ReadLine | null, bottom: BottomLine | null): ReadLine | null {
  if (!readLine || !bottom) return readLine;
  return async (question, signal) => {
    const show = bottom.hide();
    try {
      return await readLine(question, signal);
    } finally {
      show();
    }
  };
}

/** Milliseconds. What was typed before there was a question is at hand at once, and is no answer to it. */
const EARLY_MS = 150;

type Terminal = Pick<NodeJS.Process, 'stdin' | 'stderr'>;

/** Null unless a person can be asked: both are terminals. The line is null when the signal came first, or nothing more comes. */
export function terminalLine({ stdin, stderr }: Terminal): ReadLine | null {
  if (!stdin.isTTY || !stderr.isTTY) return null;
  return (question, signal) => {
    if (signal.aborted) return Promise.resolve(null);
    stderr.write(question);
    const lines = createInterface({ input: stdin, terminal: false });
    let listening = false;
    // Timers come before input: what lay there is read between the two.
    setTimeout(() => setImmediate(() => (listening = true)), EARLY_MS);
    return new Promise((resolve) => {
      const end = (line: string | null): void => {
        signal.removeEventListener('abort', stop);
        resolve(line);
        lines.close();
      };
      const stop = (): void => {
        stderr.write('\n');
        end(null);
      };
      signal.addEventListener('abort', stop, { once: true });
      lines.on('line', (line) => void (listening && end(line)));
      lines.once('close', () => end(null));
    });
  };
}
