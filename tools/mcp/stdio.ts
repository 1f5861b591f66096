// Runs an MCP server as a process: started with an allow-listed environment, ended with all it has
// started, and gone when this process is.
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter } from 'node:path';
import { awaitInTime } from '../../system/async.ts';
import { type ExitHandlers, killNow, killTree, ownProcessId } from '../../system/process/kill-tree.ts';
import { childEnvironment, type Environment } from '../../system/process/environment.ts';
import { pathOutside, worldWritableFolders } from '../../system/process/programs.ts';
import { type PipedProcess, spawnPiped } from '../../system/process/spawn-piped.ts';
import type { PipePlace } from '../../system/process/pipes.ts';
import { clip, codeOf, reasonOf } from '../../system/text.ts';
import { createLineReader, type LineReader, readAnsweredId, TOO_LARGE } from './long-lines.ts';
import { isMessage, PrintedWords, readMessage } from './printed.ts';
import type { McpBounds, StdioServer } from './servers.ts';
import type { EndingTransport } from './transport.ts';

export type ServerProcesses = {
  /** The environment, of which a server gets an allow-listed part. */
  readonly env: Environment;
  readonly hold: (argv: readonly string[]) => readonly string[];
  readonly pipes: PipePlace;
  /** Why no server is started here; null where they are. */
  readonly refusal: string | null;
  /** The started process is the sandbox's own. */
  readonly spares: boolean;
  readonly atExit: ExitHandlers;
};

/** Bytes that a server may leave unread of what it is sent. */
const MOST_UNREAD = 16 * 1024 * 1024;
/** Characters of its standard error among which the reason for an end is looked for. */
const LAST_WORDS = 8_000;

type StartedServer = { readonly child: PipedProcess; readonly end: (graceMs: number) => Promise<void> };

export function createStdioTransport(
  server: StdioServer,
  processes: ServerProcesses,
  { message, graceMs }: McpBounds,
  deserialize: (line: string) => JSONRPCMessage,
  warn: (problem: string) => void,
): EndingTransport {
  return new StdioTransport({ server, processes, limit: message, graceMs, deserialize, warn });
}

type StdioOptions = {
  readonly server: StdioServer;
  readonly processes: ServerProcesses;
  /** Bytes of one message. */
  readonly limit: number;
  readonly graceMs: number;
  readonly deserialize: (line: string) => JSONRPCMessage;
  /** Called with the end of a sentence about the program, for the person who runs it. */
  readonly warn: (problem: string) => void;
};

class StdioTransport implements EndingTransport {
  onclose?: NonNullable<Transport['onclose']>;
  onerror?: NonNullable<Transport['onerror']>;
  onmessage?: NonNullable<Transport['onmessage']>;
  readonly #options: StdioOptions;
  #started: StartedServer | null = null;
  #why: string | undefined;
  #closing: Promise<void> | null = null;
  #lastWords = (): string => '';
  readonly #words: PrintedWords;
  #lines: LineReader | null = null;

  constructor(options: StdioOptions) {
    this.#options = options;
    this.#words = new PrintedWords(options.warn);
  }

  why(): string | undefined {
    return this.#why;
  }

  lastWords(): string {
    return this.#lastWords();
  }

  printed(): string {
    return this.#words.describe(this.#lines?.open() ?? { head: '', bytes: 0 });
  }

  async start(): Promise<void> {
    const { server, processes, limit } = this.#options;
    this.#started = await startServer(server, processes);
    const { child, end } = this.#started;
    const lines = createLineReader({
      limit,
      onLine: (line) => this.#receive(line),
      onGrown: (line) => this.#words.readLong(line),
      onLong: (ends) => this.#answerDropped(ends),
    });
    this.#lines = lines;
    child.stdout.on('data', (bytes: Buffer) => lines.read(bytes));
    this.#lastWords = collectLastWords(child);
    this.#closeAtExit(child);
    // It was closed while it was started.
    if (this.#closing !== null) await end(0);
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#started?.child.stdin;
    if (this.#closing !== null || stdin === undefined) return Promise.reject(new Error(this.#why ?? 'it is closed'));
    stdin.write(`${JSON.stringify(message)}\n`);
    if (stdin.writableLength > MOST_UNREAD) void this.#close('it does not read what it is sent');
    return Promise.resolve();
  }

  close(): Promise<void> {
    return this.#close();
  }

  #close(reason?: string): Promise<void> {
    this.#why ??= reason;
    const graceMs = reason === undefined ? this.#options.graceMs : 0;
    this.#closing ??= (this.#started?.end(graceMs) ?? Promise.resolve()).finally(() => this.onclose?.());
    return this.#closing;
  }

  #closeAtExit({ stdout, stderr, exit }: PipedProcess): void {
    const { server, graceMs } = this.#options;
    const read = Promise.all(
      [stdout, stderr].map((stream) => new Promise<void>((resolve) => void stream.once('close', resolve))),
    );
    void exit.then(({ code, signal }) => {
      // Its last words may still be in the pipe, which something that it started may hold open.
      void awaitInTime(read, undefined, graceMs).then(() => {
        const unstarted = describeNotStarted(server, this.lastWords());
        // The reason says it all.
        if (unstarted !== undefined) this.#lastWords = () => '';
        void this.#close(unstarted ?? `its process ended with ${signal ?? `status ${code}`}`);
      });
    });
  }

  #receive(line: string): void {
    if (this.#closing !== null || line.trim() === '') return;
    try {
      const { message, before } = readMessage(line, this.#options.deserialize);
      this.#words.readMessage(before);
      this.onmessage?.(message);
    } catch (error) {
      // Programs print other things, too.
      this.#words.readLine(line);
      this.onerror?.(error as Error);
    }
  }

  #answerDropped(ends: readonly [string, string]): void {
    const id = readAnsweredId(ends);
    const message = `a message is longer than ${this.#options.limit} bytes`;
    if (id === undefined && !isMessage(ends[0])) return;
    if (id === undefined) return void this.#close(message);
    const error = { code: -32_603, message: `${TOO_LARGE}: ${message}` };
    this.#receive(JSON.stringify({ jsonrpc: '2.0', id, error }));
  }
}

async function startServer(
  server: StdioServer,
  { env, hold, pipes, refusal, spares, atExit }: ServerProcesses,
): Promise<StartedServer> {
  if (refusal !== null) throw new Error(refusal);
  // A workspace must not choose what `npx` finds, or which settings a program reads.
  const cwd = server.cwd ?? env['HOME'] ?? homedir();
  const PATH = pathOutside(env, worldWritableFolders()).join(delimiter);
  const own = childEnvironment(env, { cwd, callId: ownProcessId('mcp'), set: { PATH, ...server.env } });
  const child = await spawnPiped(hold([server.command, ...(server.args ?? [])]), { cwd, env: own, pipes }).catch(
    (error: unknown) => {
      if (!existsSync(cwd)) throw new Error(`its folder ${cwd} is not there`, { cause: error });
      // Its cause says less.
      if (codeOf(error) === 'ENOENT') throw new Error(describeMissingProgram(server));
      throw new Error(`it cannot be started: ${reasonOf(error)}`, { cause: error });
    },
  );
  const removeHandler = atExit.add(() => killNow(child.tree));
  let over = false;
  const exited = child.exit.then(() => void (over = true));
  const end = async (graceMs: number): Promise<void> => {
    // The end of its input tells it to end; a process that does not heed that is ended.
    child.stdin.end();
    if (!over && graceMs > 0) await awaitInTime(exited, undefined, graceMs);
    await killTree(child.tree, { graceMs, spareLeader: spares }).finally(removeHandler);
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  };
  return { child, end };
}

/**
 * Tells, by the words of bubblewrap or of the shell that holds it, that a program does not exist;
 * undefined for one that was started itself.
 */
function describeNotStarted(server: StdioServer, lastWords: string): string | undefined {
  const [, program, why] =
    /(?:execvp|exec:) (.+?): (not found|No such file or directory|Permission denied)$/.exec(lastWords) ?? [];
  if (program !== server.command) return undefined;
  return why === 'Permission denied'
    ? `its command ${JSON.stringify(program)} may not be run`
    : describeMissingProgram(server);
}

function describeMissingProgram({ command }: StdioServer): string {
  return `there is no program ${JSON.stringify(command)}: correct its command, or give the whole path`;
}

function collectLastWords({ stderr }: PipedProcess): () => string {
  let last = '';
  stderr.on('data', (bytes: Buffer) => {
    last = `${last}${bytes.toString('utf8')}`.slice(-LAST_WORDS);
  });
  return () => chooseLastWords(last);
}

// Chooses, from what a program printed before its end, the words that say why it ended: many print
// stack frames, versions and hints behind them.
const LONGEST_LAST_WORDS = 300;

/** Lines that tell nothing by themselves, in any order. */
const EMPTY_WORDS = [
  /^\s*$/,
  // Stack frames, carets, and properties of an error of Node.
  /^\s/,
  /^[{}[\]()^,;~.\s]+$/,
  /^Node\.js v\d/,
  /^(Bun|Deno) v\d/,
  /^\(Use `node --trace/,
  /^Require stack:$/,
  /^- \//,
  // Go, Rust, the shells of both.
  /^(goroutine \d+ \[|created by |exit status \d+$)/,
  /^[\w./*-]+\(.*\)$/,
  /^(note: .*RUST_BACKTRACE|stack backtrace:$)/,
  // npm, docker, Python.
  /^npm (error|ERR!) (A complete log|code |errno |syscall |path |404$)/,
  /^(See|Run) 'docker/,
  /^Traceback \(most recent call last\)/,
];

/** Lines that name an error. */
const ERRORS = [
  /^npm (error|ERR!) \S/,
  /^(\[cause\]: |Caused by: |Uncaught |Unhandled |\[)?[\w.$]*(Error|Exception|Rejection)\b[^:]*:/,
  /^(error|fatal|panic|fatal error|docker:|thread '.*' .*panicked)(?!\w)/i,
];

/** Returns a line, and what belongs to it; the empty text where nothing was printed. */
export function chooseLastWords(printed: string): string {
  const lines = printed.split(/\r?\n/).map((line) => line.trimEnd());
  const isEmpty = (line: string): boolean => EMPTY_WORDS.some((words) => words.test(line));
  const isError = (line: string): boolean => !isEmpty(line) && ERRORS.some((words) => words.test(line));
  // npm says first what is wrong, and others last.
  const isNpm = lines.some((line) => /^npm (error|ERR!) code /.test(line));
  const at = isNpm ? lines.findIndex(isError) : lines.findLastIndex(isError);
  if (at === -1) return clip(lines.findLast((line) => !isEmpty(line))?.trim() ?? '', LONGEST_LAST_WORDS);
  // The properties of an error of Node follow the brace.
  const line = (lines[at] ?? '').replace(/ \{$/, '');
  const rest = isNpm || line !== lines[at] ? [] : lines.slice(at + 1);
  const end = rest.findIndex((one) => isEmpty(one) && !/^ {2,4}\S(?!t )/.test(one));
  const more = end === -1 ? rest : rest.slice(0, end);
  return clip([line, ...more].map((one) => one.trim()).join(' '), LONGEST_LAST_WORDS);
}
