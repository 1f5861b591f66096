// The transports of MCP servers: each says why it was closed, and what is known of its server.
import type { Transport } from '@modelcontextprotocol/client';

/** A transport that says why it was closed. */
export type EndingTransport = Transport & {
  readonly why?: () => string | undefined;
  /** Closes the connection to a server at an address for this reason. */
  readonly lose?: (why: string) => void;
  /**
   * What the server printed last to its standard error of why it ended. It may be anything, so it
   * is for the log alone.
   */
  readonly lastWords?: () => string;
  /**
   * What the program has printed to its standard output since its last message, and is none: the
   * end of a sentence, or the empty text.
   */
  readonly printed?: () => string;
  /** Asks a server at an address to forget the session. */
  readonly terminateSession?: () => Promise<void>;
  /** `sse`: its address names the session. */
  readonly type?: 'sse';
  readonly access?: () => Access;
};

/** What is known of the credentials that requests go with. */
export type Access = {
  readonly hasHeaders: boolean;
  /** The id of the vault's credential among them. */
  readonly credential?: string | undefined;
  /** The last `WWW-Authenticate` of an answer of 401 or 403. */
  readonly challenge: string;
};
