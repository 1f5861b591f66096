// Failures of an MCP server, and whether they are for want of credentials (L34, L75).
import type { McpServer } from './servers.ts';

/**
 * `refused`: the server answered that it will not. `lost`: the connection is of no use now.
 * `forgotten`: the server does not know its session, and `unauthorized`: it wants other
 * credentials; neither has run the request. The message is the end of a sentence.
 */
export class McpError extends Error {
  override readonly name = 'McpError';
  readonly kind: 'refused' | 'late' | 'lost' | 'unreadable' | 'forgotten' | 'unauthorized';
  /**
   * The last words that the server printed to its standard error, for the person who runs it and
   * for no model.
   */
  readonly lastWords: string;
  constructor(kind: McpError['kind'], message: string, cause: unknown, lastWords = '') {
    super(message, { cause });
    this.kind = kind;
    this.lastWords = lastWords;
  }
}

/** Writes the end of a sentence, for the person who runs the server. */
export function appendLastWords(reason: string, lastWords: string): string {
  return lastWords === '' ? reason : `${reason}; it said last: ${lastWords}`;
}

/** Joins two ends of a sentence, of which the second may be empty. */
export const joinReasons = (reason: string, more: string): string => (more === '' ? reason : `${reason}; ${more}`);

/**
 * The server cannot be reached now. The message is a sentence. `fatal`: no run is to go on without
 * it.
 */
export class ServerAway extends Error {
  override readonly name = 'Away';
  readonly fatal: boolean;
  /** The end of a sentence, which does not change while the server is away for the same reason. */
  readonly reason: string;
  readonly unauthorized: boolean;
  constructor(
    message: string,
    fatal: boolean,
    { reason = message, unauthorized = false, cause }: ServerAwayFacts = {},
  ) {
    super(message, { cause });
    this.fatal = fatal;
    this.reason = reason;
    this.unauthorized = unauthorized;
  }
}

type ServerAwayFacts = { readonly reason?: string; readonly unauthorized?: boolean; readonly cause?: unknown };

/** The headers of the configuration could not be had. */
export class NoHeaders extends Error {
  override readonly name = 'NoHeaders';
}

/**
 * Tells whether the server wants credentials that it was not given, and its configuration says that
 * no run goes on without them.
 */
export function isRunEnding(server: McpServer, error: unknown): boolean {
  return 'url' in server && server.missingCredentials === 'end' && isForWantOfCredentials(error);
}

/** Tells whether the server refused the credentials, or there were none. */
export function isUnauthorized(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { status, kind } = error as { readonly status?: unknown; readonly kind?: unknown };
  return kind === 'unauthorized' || status === 403 || isForWantOfCredentials(error) || isUnauthorized(error.cause);
}

function isForWantOfCredentials(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { status, code } = error as { readonly status?: unknown; readonly code?: unknown };
  return error instanceof NoHeaders || status === 401 || code === 401 || isForWantOfCredentials(error.cause);
}
