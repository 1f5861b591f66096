// Reads why a request to an MCP server failed: whether it has run, whether its connection is of
// use, and what the person who runs the worker can do.
import { reasonOf, clip } from '../../system/text.ts';
import type { McpError } from './failures.ts';
import { TOO_LARGE } from './long-lines.ts';
import type { Access, EndingTransport } from './transport.ts';

type Library = typeof import('@modelcontextprotocol/client');

type Reading = Pick<McpError, 'kind' | 'message'>;

export function readLinkError(library: Library, error: unknown, transport: EndingTransport): Reading {
  const { ProtocolError, SdkError, SdkErrorCode } = library;
  const message = describeLinkError(error);
  // This error is ours, in the place of an answer that is too large: the call has run.
  const isOurs = error instanceof ProtocolError && error.message.includes(TOO_LARGE);
  if (error instanceof ProtocolError) return { kind: isOurs ? 'unreadable' : 'refused', message };
  const status = findStatus(library, error);
  if (status !== undefined) return readStatus(status, message, transport);
  if (error instanceof SdkError) {
    if (error.code === SdkErrorCode.RequestTimeout) return { kind: 'late', message: 'it did not answer in time' };
    if (error.code === SdkErrorCode.InvalidResult) return { kind: 'unreadable', message };
    return { kind: 'lost', message: transport.why?.() ?? message };
  }
  // The address cannot be reached, or the answer is not JSON, or too long.
  return { kind: error instanceof TypeError ? 'lost' : 'unreadable', message };
}

/** Words an error: `fetch failed` says nothing, and its cause does. */
function describeLinkError(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? `: ${reasonOf(error.cause)}` : '';
  const status = error instanceof Error && 'status' in error ? ` (HTTP status ${String(error.status)})` : '';
  return `${reasonOf(error)}${cause}${status}`;
}

/** Returns the status that a request was answered with, if that was not 2xx. */
function findStatus({ SdkHttpError }: Library, error: unknown): number | undefined {
  if (error instanceof SdkHttpError) return error.status;
  // The older transport puts it into words.
  const words = error instanceof Error ? /^Error POSTing to endpoint \(HTTP (\d{3})\)/.exec(error.message) : null;
  return words ? Number(words[1]) : undefined;
}

function readStatus(status: number, message: string, transport: EndingTransport): Reading {
  if (isSessionForgotten(status, message, transport)) return { kind: 'forgotten', message };
  if (status === 401 || status === 403)
    return { kind: 'unauthorized', message: describeUnauthorized(status, message, transport.access?.()) };
  return { kind: isConnectionStatus(status) ? 'lost' : 'refused', message };
}

/**
 * By the protocol a server answers 404 when it does not know a session. Many say it with another
 * status, and in words: 400, 401 or 503, and of a program that was started again "Server not
 * initialized". None of them has run the request.
 */
function isSessionForgotten(status: number, message: string, { sessionId, type }: EndingTransport): boolean {
  if (sessionId === undefined && type !== 'sse') return false;
  if (status === 404 && type !== 'sse') return true;
  return [400, 401, 404, 410, 500, 503].includes(status) && FORGOTTEN.some((words) => words.test(message));
}

const FORGOTTEN = [
  /(no valid|no such|could not find|unknown|invalid|expired|missing|no transport).{0,30}session/i,
  /session.{0,40}(not found|not exist|doesn't exist|expired|terminated|unknown|invalid|closed|is required)/i,
  /not initialized/i,
];

/**
 * Tells whether a status is about the connection. Other statuses are about one request: the
 * connection goes on with those of others.
 */
function isConnectionStatus(status: number): boolean {
  return status < 400 || status >= 500 || [404, 408].includes(status);
}

const LONGEST_VALUE = 300;

function describeUnauthorized(status: number, message: string, access: Access | undefined): string {
  const { hasHeaders = false, credential, challenge = '' } = access ?? {};
  const says = readParameter(challenge, 'error_description') ?? clip(bodyOf(message), LONGEST_VALUE);
  const answered = `(HTTP status ${status}${says === '' ? '' : `: ${says}`})`;
  const scope = readParameter(challenge, 'scope');
  const needs = scope === undefined ? '' : `; its token needs the scope ${JSON.stringify(scope)}`;
  const metadata = readParameter(challenge, 'resource_metadata');
  const where = metadata === undefined ? '' : `; ${metadata} names the server that issues tokens`;
  if (status === 403) return `it does not allow this with its credentials ${answered}${needs}${where}`;
  const login = `it wants a login ${answered}: put a token into its configuration, as headers: { authorization: 'Bearer …' }`;
  const configured = `it does not accept the \`headers\` of its configuration ${answered}: renew the token there`;
  const ofVault = `it does not accept the token of credential ${credential} ${answered}: replace it`;
  const remedy = credential !== undefined ? ofVault : hasHeaders ? configured : login;
  return `${remedy}${needs}${where}`;
}

/** Takes off what the library puts before the body of an answer, and the status behind it. */
function bodyOf(message: string): string {
  return message
    .replace(/^Error POSTing to endpoint(?: \(HTTP \d{3}\))?:\s*/, '')
    .replace(/\(HTTP status \d{3}\)$/, '')
    .trim();
}

/** Reads a parameter of a challenge: `Bearer scope="a b", resource_metadata="https://…"`. */
function readParameter(challenge: string, name: string): string | undefined {
  const [, quoted, plain] = new RegExp(`(?:^|[\\s,])${name}=(?:"([^"]*)"|([^\\s,]+))`).exec(challenge) ?? [];
  const value = (quoted ?? plain ?? '').trim();
  return value === '' ? undefined : clip(value, LONGEST_VALUE);
}
