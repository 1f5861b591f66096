// The MCP servers of a worker's configuration (L74), and the bounds of everything that one sends.
import { createHash } from 'node:crypto';
import { SERVER_PREFIX, VALID_NAME } from '../registry.ts';

export type McpServer = StdioServer | HttpServer;

/** By name: letters, digits, `-` and single `_`, at most 32. */
export type McpServers = Readonly<Record<string, McpServer>>;

type ServerOptions = {
  /**
   * The server's annotations count: `readOnlyHint` runs unasked, `idempotentHint` runs again when
   * its result was lost (L76). Absent: no.
   */
  readonly trusted?: boolean;
  /**
   * The server's questions in the middle of a call (elicitation) are put to people, and the call
   * waits for them (L77). Absent: they are refused.
   */
  readonly asksPeople?: boolean;
  /**
   * Answers such questions instead of people, where the configuration does; null: people are asked
   * where they may be.
   */
  readonly answers?: AnswerServer;
  /**
   * Milliseconds in which a call must be answered or report progress, without the time that people
   * take. Absent: 120,000.
   */
  readonly timeoutMs?: number;
  /**
   * Milliseconds that a call may take in all while it reports progress, and a task. Absent: an
   * hour.
   */
  readonly progressTimeoutMs?: number;
  /**
   * Milliseconds in which a connection must stand; the program may have to be installed first.
   * Absent: 60,000.
   */
  readonly connectTimeoutMs?: number;
};

/**
 * A question that a server asks in the middle of a call: for the fields of a form
 * (`requestedSchema`), or that a page is opened (`url`).
 */
export type ServerQuestion = {
  readonly serverName: string;
  readonly message: string;
  readonly mode: 'form' | 'url';
  readonly requestedSchema?: Readonly<Record<string, unknown>>;
  readonly url?: string;
  readonly elicitationId?: string;
};

/** `content` has the form's fields. */
export type ServerAnswer = {
  readonly action: 'accept' | 'decline' | 'cancel';
  readonly content?: Record<string, string | number | boolean | string[]>;
};

/** Answers a question. `signal` is aborted when the server no longer waits. */
export type AnswerServer = (
  request: ServerQuestion,
  options: { readonly signal: AbortSignal },
) => Promise<ServerAnswer | null>;

/** Tells whether the server's questions in the middle of a call are put to anyone (L77). */
export const canAskPeople = ({ asksPeople = false, answers }: McpServer): boolean =>
  asksPeople || answers !== undefined;

/** A program that speaks over its standard input and output. */
export type StdioServer = ServerOptions & {
  readonly type?: 'stdio';
  readonly command: string;
  readonly args?: readonly string[];
  /**
   * Variables in addition to the ordinary ones (PATH, HOME, LANG, …); the server gets no others.
   */
  readonly env?: Readonly<Record<string, string>>;
  /** An absolute path. Absent: the home folder. */
  readonly cwd?: string;
};

/** A server at an address: streamable HTTP, or the older SSE. */
export type HttpServer = ServerOptions & {
  readonly type: 'http' | 'sse';
  readonly url: string;
  /**
   * A function is asked once for each connection, and again, with the headers that were refused,
   * when the server answers 401.
   */
  readonly headers?: McpHeaders | ((refused?: McpHeaders) => McpHeaders | Promise<McpHeaders>);
  /**
   * When a call meets an answer of 401, or headers that cannot be had: the model is told, or the
   * run ends (L34). Absent: `tell`.
   */
  readonly missingCredentials?: 'tell' | 'end';
};

/** A worker's configuration of a server that sessions may name. */
export type KnownServer = Pick<
  HttpServer,
  'headers' | 'trusted' | 'timeoutMs' | 'progressTimeoutMs' | 'connectTimeoutMs'
>;

/** By address. One that is known is connected to wherever it leads; others in public alone. */
export type KnownServers = Readonly<Record<string, KnownServer>>;

export type McpHeaders = Readonly<Record<string, string>>;

export type McpBounds = {
  /** Bytes of one message, over any transport. */
  readonly message: number;
  /** Milliseconds that an iteration waits for a list. */
  readonly listMs: number;
  /** Milliseconds in which a list must have come, even when it is not waited for. */
  readonly slowListMs: number;
  /** Milliseconds after which a server that does not tell of changes is asked again. */
  readonly pollMs: number;
  /** Milliseconds before the second try to connect; doubled up to `mostBackoffMs`. */
  readonly backoffMs: number;
  readonly mostBackoffMs: number;
  /** Milliseconds that a program gets to end by itself. */
  readonly graceMs: number;
  /** Milliseconds in which a server at an address must answer after a sleep of this machine. */
  readonly wakeMs: number;
};

export const mcpBounds: McpBounds = {
  message: 8 * 1024 * 1024,
  listMs: 5_000,
  slowListMs: 60_000,
  pollMs: 30_000,
  backoffMs: 1_000,
  mostBackoffMs: 60_000,
  graceMs: 1_500,
  wakeMs: 20_000,
};

export const CALL_MS = 120_000;
export const PROGRESS_CALL_MS = 60 * 60_000;
export const CONNECT_MS = 60_000;

/** The bounds of one server: characters, but for the number of tools. */
export const SERVER_BOUNDS = {
  tools: 200,
  description: 4_000,
  schema: 64 * 1024,
  list: 512 * 1024,
  instructions: 4_000,
};

/**
 * Names a tool for the model, rules and hooks. A name that the API would refuse is made fit, and
 * told apart by a hash.
 */
export function nameServerTool(server: string, tool: string): string {
  const whole = `${SERVER_PREFIX}${server}__${tool}`;
  if (VALID_NAME.test(whole)) return whole;
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, 8);
  return `${whole.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 55)}_${hash}`;
}
