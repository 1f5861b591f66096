// A command's view of its process. Standard output carries the answer, standard error everything
// else.
import type { Env } from '../connection/data-folder.ts';
import { reasonOf, showUnseen } from '../system/text.ts';
import { createRedactor } from '../worker/redact.ts';
import { utf8Text } from '../system/read-named-file.ts';
import { type Paint, paint } from '../client/paint.ts';
import { type BottomArea, bottomArea } from './terminal/bottom-area.ts';
import { markedRows } from '../client/render/width.ts';
import { UsageError } from './errors.ts';
import type { Hands, Input } from './typing/input.ts';
import { openKeyboard } from './typing/keyboard.ts';
import { personsEditor } from './typing/persons-editor.ts';
import { readPiped } from './typing/piped.ts';
import { typedLines } from './typing/typed-lines.ts';
import { type TypedRows, typedRows } from './typing/typed-rows.ts';

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
  readonly bottom: BottomArea | null;
  /** Standard input as text. Throws UsageError when it is none. */
  readonly readInput: () => Promise<string>;
  /** What is piped in beside a text; null for nothing. */
  readonly readBeside: () => Promise<string | null>;
  /** Takes what the person at the terminal types; null when there is none. */
  readonly openInput: ((hands: Hands) => Input) | null;
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
  // A reader that went away (`| head`) is no failure. Without a listener the error would end the
  // process.
  stdout.on('error', () => unread.abort());
  stderr.on('error', () => undefined);
  const [out, err] = [paint(stdout, env), paint(stderr, env)];
  const write = (text: string): unknown => stderr.write(text);
  const bottom = out.on && err.on ? watchedArea(stderr) : null;
  const above = (text: string, to: (text: string) => unknown): void =>
    void (bottom ? bottom.above(text, to) : to(text));
  const redact = createRedactor(env);
  const say = (line: string): void => {
    const text = showUnseen(redact(line));
    const rows = text.split('\n').flatMap((row) => markedRows(err.columns(), row));
    above(`${err.dim(rows.join('\n'))}\n`, write);
  };
  return {
    env,
    cwd: () => workingDirectory(io),
    // Called through npm it is not on PATH.
    self: env['npm_command'] ? 'npx perdure' : 'perdure',
    print: (text) => void (unread.signal.aborted || above(text, (words) => stdout.write(words))),
    say,
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
    readBeside: async () => {
      const piped = await readPiped({ stdin, say });
      return piped && inputText(piped);
    },
    openInput: stdin.isTTY && stderr.isTTY ? inputOpener(io, { bottom, style: err.bold, dim: err.dim, say }) : null,
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

function watchedArea(stderr: Io['stderr']): BottomArea {
  const area = bottomArea({
    write: (text) => stderr.write(text),
    columns: () => stderr.columns,
    rows: () => stderr.rows,
  });
  stderr.on('resize', area.resized);
  return area;
}

type Place = Pick<Cli, 'bottom' | 'say'> & Pick<TypedRows, 'style' | 'dim'>;

function inputOpener({ stdin, stderr, env }: Io, { bottom, style, dim, say }: Place): (hands: Hands) => Input {
  const write = (text: string): unknown => stderr.write(text);
  const runEditor = personsEditor(env, say);
  return (hands) => {
    if (!bottom) return typedLines({ stdin, write, style, runEditor }, hands);
    const keyboard = openKeyboard({ stdin, write });
    const columns = (): number => stderr.columns;
    return typedRows({ area: bottom, keyboard, columns, style, dim, say, runEditor, suspend }, hands);
  };
}

/** As Ctrl-Z does: until the shell says that it goes on. */
function suspend(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGCONT', resolve);
    process.kill(process.pid, 'SIGTSTP');
  });
}
