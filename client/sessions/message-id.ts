// Ids of messages, chosen by the sender or made here.
import { randomUUID } from 'node:crypto';
import type { MessageId } from '../../workflows/contract/ids.ts';
import { LONGEST_ID } from '../../workflows/contract/session.ts';
import { ClientProblem } from '../problem.ts';

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
