// Checks the address of a Redis, and says in sentences what is wrong there. The name and password
// in an address never leave this file.
import { codeOf, reasonOf } from '../../system/text.ts';

export class MissingClient extends Error {}

/** Tells whether the Redis answered and refused the command. */
export function isRedisRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError';
}

export function isUnanswered(error: Error): boolean {
  return error.message === 'Command timed out';
}

const ADDRESS = /^rediss?:\/\/[^/?#\s]+(?:\/\d{0,4})?$/;

/** Returns why `PERDURE_LIVE` cannot be `url`, or undefined. */
export function liveUrlProblem(url: string): string | undefined {
  const fits = ADDRESS.test(url) && URL.canParse(url) && new URL(url).hostname !== '' && isDecodable(url);
  return fits
    ? undefined
    : 'PERDURE_LIVE is no address of a Redis: give redis://host:port/database, with user:password@ before the host where it wants them (rediss:// for TLS), or unset it to keep the live channel in the data folder';
}

function isDecodable(text: string): boolean {
  try {
    return decodeURIComponent(text) !== '';
  } catch {
    return false;
  }
}

/** Returns the address without name and password. */
export function addressWithoutSecrets(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** Advice by the code of an error, or the first word of an answer. */
const ADVICE: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing answers there: see PERDURE_LIVE and that it runs',
  ENOTFOUND: 'its host is not known: see PERDURE_LIVE and the network',
  EAI_AGAIN: 'its host is not known now: see the network',
  ETIMEDOUT: 'it does not answer: see PERDURE_LIVE and the network',
  WRONGPASS: 'its user or password is wrong: give the right ones in PERDURE_LIVE',
  NOAUTH: 'it wants a password: give it in PERDURE_LIVE, as redis://:password@host',
  NOPERM:
    'its user may not use it: allow the keys and channels perdure:* and the commands of streams, expiry and publishing',
  LOADING: 'it still reads its data',
  OOM: 'its memory is full: raise maxmemory there',
  READONLY: 'it is a replica: name the one that takes writes in PERDURE_LIVE',
  MISCONF: 'it takes no writes, for it cannot save them: see its log',
};

const OTHER_PROTOCOL = /Unknown RESP type|Protocol error/;

/** `error` is null when the connection was closed without one. */
export function describeProblem(url: string, error: unknown): string {
  const what = `the Redis at ${addressWithoutSecrets(url)} cannot be used`;
  if (error === null) return `${what}: the connection was lost`;
  if (error instanceof MissingClient) return `${what}: ${error.message}`;
  const reason = reasonOf(error);
  if (OTHER_PROTOCOL.test(reason)) return `${what}: something else than a Redis answers there: see PERDURE_LIVE`;
  if (error instanceof Error && isUnanswered(error)) return `${what}: it does not answer`;
  if (reason.startsWith('ERR DB index')) return `${what}: it has no database of that number: see PERDURE_LIVE`;
  const advice = ADVICE[codeOf(error) ?? ''] ?? ADVICE[reason.split(' ')[0] ?? ''];
  return `${what}: ${advice ?? hideSecrets(url, reason)}`;
}

function hideSecrets(url: string, reason: string): string {
  const { username, password } = new URL(url);
  const secrets = [username, password].flatMap((secret) => [secret, decodeURIComponent(secret)]);
  return secrets
    .filter((secret) => secret !== '')
    .reduce((text, secret) => text.replaceAll(secret, '[redacted]'), reason);
}
