// Ids of sessions and messages, chosen by the caller or made here. A session's id is its workflow's
// id and part of file names.
import { randomInt, randomUUID } from 'node:crypto';
import type { SessionId, MessageId } from '../../workflows/contract/ids.ts';
import { ClientProblem } from '../problem.ts';
import { LONGEST_ID } from '../../workflows/contract/session.ts';

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

/** Makes an id for a message: a message sent again with its id counts once. */
export function newMessageId(): MessageId {
  return randomUUID() as MessageId;
}

/** Returns a sentence that says what is wrong with a message's id, or undefined. */
function messageIdProblem(id: unknown): string | undefined {
  if (typeof id !== 'string')
    return `the message's id is no text: give 1 to ${LONGEST_ID} characters, or none to have one made`;
  if (id !== '' && id.length <= LONGEST_ID) return undefined;
  return `the message's id has ${id.length} characters: give 1 to ${LONGEST_ID}, or none to have one made`;
}

/** Throws ClientProblem for a text that cannot be a message's id. */
export function parseMessageId(id: string): MessageId {
  const problem = messageIdProblem(id);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  return id as MessageId;
}
