// What goes wrong with an MCP server, and whether it is for want of credentials (L34, L75).
import type { McpServer } from './servers.ts';

/**
 * `refused`: the server answered that it will not. `lost`: the connection is of no use any longer.
 * The message is the end of a sentence.
 */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly kind: 'refused' | 'late' | 'lost' | 'unreadable';
  /** What the server printed last to its standard error: for whoever runs it, and for no model. */
  readonly said: string;
  constructor(kind: McpError['kind'], message: string, cause: unknown, said = '') {
    super(message, { cause });
    this.kind = kind;
    this.said = said;
  }
}

/** The end of a sentence, for whoever runs the server. */
export function withLastWords(reason: string, said: string): string {
  return said === '' ? reason : `${reason}; it said last: ${said}`;
}

/**
 * The server cannot be reached now. The message is a sentence. `fatal`: no run is to go on without
 * it.
 */
export class Away extends Error {
  override readonly name = 'Away';
  readonly fatal: boolean;
  constructor(message: string, fatal: boolean, cause?: unknown) {
    super(message, { cause });
    this.fatal = fatal;
  }
}

/** The headers of the configuration could not be had. */
export class NoHeaders extends Error {
  override readonly name = 'NoHeaders';
}

/**
 * The server wants credentials that it was not given, and its configuration says that no run goes
 * on without.
 */
export function endsRun(server: McpServer, error: unknown): boolean {
  return 'url' in server && server.missingCredentials === 'end' && lacksCredentials(error);
}

function lacksCredentials(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { status, code } = error as { readonly status?: unknown; readonly code?: unknown };
  return error instanceof NoHeaders || status === 401 || code === 401 || lacksCredentials(error.cause);
}
