// Ids of sessions, chosen by the caller or made here. A session's id is its workflow's id and part
// of file names.
import { randomInt } from 'node:crypto';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { ClientProblem } from '../problem.ts';

const ALPHABET = '0123456789abcdefghijklmnopqrstuvwxyz';
/** With 36^10 ids, two of a billion sessions share one once in a few thousand machines. */
const LENGTH = 10;
const LONGEST = 100;

/** Makes a new, unused id for a session. It becomes the workflow's id and part of file names. */
export function newSessionId(): SessionId {
  const letters = Array.from({ length: LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]);
  return `s-${letters.join('')}` as SessionId;
}

/** Returns a sentence that says what is wrong with a session id, or undefined. */
export function sessionIdProblem(id: string): string | undefined {
  if (id.length <= LONGEST && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(id)) return undefined;
  const quoted = JSON.stringify(id.length > LONGEST ? `${id.slice(0, LONGEST)}…` : id);
  return `${quoted} is no session id: use letters, digits, "-", "_" and ".", begin with a letter or digit, at most ${LONGEST}`;
}

/** Throws ClientProblem for a text that cannot be a session id. */
export function parseSessionId(id: string): SessionId {
  const problem = sessionIdProblem(id);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  return id as SessionId;
}
