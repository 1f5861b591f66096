// A command's view of its process. Standard output carries the answer, standard error everything
// else.
import type { Env } from '../connection/data-folder.ts';
import { reasonOf, showUnseen } from '../system/text.ts';
import { markRows, setAmbiguousWide } from '../client/faces/basics.ts';
import { createRedactor, COLUMNS, detectPaint } from '../client/faces/start.ts';
import type { Paint } from '../client/faces/types.ts';
import { utf8Text } from '../system/read-named-file.ts';
import { BottomArea } from './terminal/bottom-area.ts';
import { UsageError } from './errors.ts';
import type { Hands, Input, Keyboard } from './typing/input.ts';
import { openKeyboard } from './typing/keyboard.ts';
import { createPersonsEditor, suspendJob } from './typing/persons-editor.ts';
import { readPiped } from './typing/piped.ts';
import { readTypedLines } from './typing/typed-lines.ts';
import { openTypedRows, type TypingPlace } from './typing/typed-rows.ts';

export type Cli = {
  readonly env: Env;
  /** Absolute folder that relative paths start from. Throws UsageError when it is gone. */
  readonly cwd: () => string;
  /** Name by which this program is called, for hints. */
  readonly self: string;
  /** Writes to standard output, unchanged. */
  readonly print: (text: string) => void;
  /** Writes one line for a person to standard error. */
  readonly say: (line: string) => void;
  readonly verbose: boolean;
  /** Colours for standard output and for standard error; off unless the stream is a terminal. */
  readonly out: Paint;
  readonly err: Paint;
  /** Standard output is a terminal, whether it has colours or not. */
  readonly isTerminal: boolean;
  /** Size of the terminal on standard output. */
  readonly size: () => { readonly rows: number; readonly columns: number };
  /** Area below what is written; null unless both outputs are terminals with colours. */
  readonly bottom: BottomArea | null;
  /** Reads standard input as text. Throws UsageError when it is not text. */
  readonly readInput: () => Promise<string>;
  /** Reads what is piped in together with a text argument; null for nothing. */
  readonly readBeside: () => Promise<string | null>;
  /** Takes what the person at the terminal types; null without a terminal. */
  readonly openInput: ((hands: Hands) => Input) | null;
  /** Opens the keys of the terminal for a screen of its own; null without a terminal. */
  readonly openKeys: (() => Keyboard) | null;
  /** Aborts when the reader of standard output is gone. */
  readonly unread: AbortSignal;
  /** Sets the exit status of the command. */
  readonly exit: (status: number) => void;
};

export type Io = Pick<NodeJS.Process, 'stdout' | 'stderr' | 'stdin' | 'env' | 'cwd'>;

type Process = Pick<Cli, 'verbose' | 'exit'> & {
  /** Called before anything is shown. */
  readonly started?: () => void;
};

/** `exit` gets the status; the process ends when its command has cleaned up. */
export function cliOf(io: Io, { verbose, exit, started = () => undefined }: Process): Cli {
  const { stdout, stderr, stdin, env } = io;
  const unread = new AbortController();
  // A reader that went away (`| head`) is not a failure. Without a listener the error would end the
  // process.
  stdout.on('error', () => unread.abort());
  stderr.on('error', () => undefined);
  const [out, err] = [detectPaint(stdout, env), detectPaint(stderr, env)];
  const write = (text: string): unknown => stderr.write(text);
  const bottom = out.on && err.on ? openBottomArea(stderr, started) : null;
  const width = ambiguousWidth(env);
  const openKeys = (drawn: BottomArea | null): Keyboard => {
    const ask = (): boolean => {
      if (width === null || !stderr.isTTY) return false;
      return drawn ? drawn.query(width.query) : stderr.write(`\r${width.query}\r\u001b[K`) || true;
    };
    const answer = (column: number): void => void (width?.answer(column) && drawn?.resize());
    return openKeyboard({ stdin, write, query: { ask, answer } });
  };
  const above = (text: string, to: (text: string) => unknown): void =>
    void (started(), bottom ? bottom.above(text, to) : to(text));
  const redact = createRedactor(env);
  const say = (line: string): void => {
    const text = showUnseen(redact(line));
    const rows = text.split('\n').flatMap((row) => markRows(err.columns(), row));
    above(`${err.dim(rows.join('\n'))}\n`, write);
  };
  return {
    env,
    cwd: () => workingDirectory(io),
    // A program started through npm is not on PATH.
    self: env['npm_command'] ? 'npx perdure' : 'perdure',
    print: (text) => void (unread.signal.aborted || above(text, (words) => stdout.write(words))),
    say,
    verbose,
    out,
    isTerminal: stdout.isTTY,
    size: () => sizeOf(stdout),
    bottom,
    err,
    readInput: async () => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of stdin) chunks.push(chunk as Uint8Array);
      return inputText(Buffer.concat(chunks));
    },
    readBeside: async () => {
      const piped = await readPiped({ stdin, say });
      return piped && inputText(piped);
    },
    openInput:
      stdin.isTTY && stderr.isTTY
        ? inputOpener(io, { bottom, style: err.bold, dim: err.dim, say, started, openKeys })
        : null,
    openKeys: stdin.isTTY ? () => (started(), openKeys(null)) : null,
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

function openBottomArea(stderr: Io['stderr'], started: () => void): BottomArea {
  const area = new BottomArea({
    write: (text) => (started(), stderr.write(text)),
    columns: () => sizeOf(stderr).columns,
    rows: () => sizeOf(stderr).rows,
  });
  stderr.on('resize', () => area.resize());
  return area;
}

/** A terminal that does not know its size says 0. */
const sizeOf = ({ rows, columns }: Pick<Io['stdout'], 'rows' | 'columns'>): ReturnType<Cli['size']> => ({
  rows: rows || ROWS,
  columns: columns || COLUMNS,
});

/** Rows of a terminal that does not report them. */
const ROWS = 24;

type Place = Pick<Cli, 'bottom' | 'say'> &
  Pick<TypingPlace, 'style' | 'dim'> &
  Required<Pick<Process, 'started'>> & { readonly openKeys: (drawn: BottomArea) => Keyboard };

function inputOpener(
  { stdin, stderr, env }: Io,
  { bottom, style, dim, say, started, openKeys }: Place,
): (hands: Hands) => Input {
  const write = (text: string): unknown => stderr.write(text);
  const runEditor = createPersonsEditor(env, say);
  return (hands) => {
    started();
    if (!bottom) return readTypedLines({ stdin, write, style, runEditor }, hands);
    const keyboard = openKeys(bottom);
    const columns = (): number => sizeOf(stderr).columns;
    return openTypedRows(
      { area: bottom, keyboard, columns, style, dim, say, runEditor, suspend: () => suspendJob(process) },
      hands,
    );
  };
}

/** Written at the start of a row; the answer is the column behind the character. */
const QUERY = '…\u001b[6n';
const VARIABLE = 'PERDURE_AMBIGUOUS_WIDTH';

type WidthQuery = {
  readonly query: string;
  /** Takes the column behind the character; returns false when nothing is new. */
  answer(column: number): boolean;
};

/**
 * Finds out how a terminal draws characters of ambiguous width, in one column or in two: by a
 * variable, else by writing one and asking where the cursor is, as vim does. Returns null where the
 * variable says it. Throws UsageError for another value than 1 or 2.
 */
export function ambiguousWidth(env: Env): WidthQuery | null {
  const setting = env[VARIABLE];
  if (setting !== undefined && setting !== '' && setting !== '1' && setting !== '2')
    throw new UsageError(`${VARIABLE} is "${setting}": set it to 1 or 2, the columns of characters such as …`);
  let isWide = setting === '2';
  setAmbiguousWide(isWide);
  if (setting) return null;
  return {
    query: QUERY,
    answer: (column) => {
      if ((column !== 2 && column !== 3) || isWide === (column === 3)) return false;
      isWide = column === 3;
      setAmbiguousWide(isWide);
      return true;
    },
  };
}
