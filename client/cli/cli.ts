// What a command sees of the process it runs in. Standard output carries what was asked for, standard error everything else.
import type { Env } from '../../worker/embedded/data-folder.ts';
import { reasonOf } from '../../worker/embedded/setup-problem.ts';
import { redactor } from '../../worker/redact.ts';
import { utf8Text } from '../../worker/config/read-named-file.ts';
import { plain } from '../render/plain.ts';
import { UsageError } from './errors.ts';
import { type Paint, paint } from '../render/paint.ts';
import { type ReadLine, terminalLine } from './terminal-line.ts';

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
  const err = paint(stderr, env);
  const redact = redactor(env);
  return {
    env,
    cwd: () => workingDirectory(io),
    // Called through npm it is not on PATH.
    self: env['npm_command'] ? 'npx perdure' : 'perdure',
    print: (text) => void (unread.signal.aborted || stdout.write(text)),
    say: (line) => void stderr.write(`${err.dim(plain(redact(line)))}\n`),
    verbose,
    out: paint(stdout, env),
    isTerminal: stdout.isTTY,
    err,
    readInput: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of stdin) chunks.push(chunk as Uint8Array);
      return inputText(Buffer.concat(chunks));
    },
    readLine: terminalLine(io),
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
