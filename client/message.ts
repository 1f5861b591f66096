// A user's text on its way into a session: short ones travel with the signal, longer ones are stored first and travel by hash.
import { randomUUID } from 'node:crypto';
import type { MessageId } from '../workflows/contract/ids.ts';
import { withChanges } from '../workflows/contract/option-changes.ts';
import { optionsProblem } from '../workflows/contract/options-problem.ts';
import {
  LONGEST_ID,
  type MessageBody,
  type OptionChanges,
  type RunOptions,
  type UserMessage,
} from '../workflows/contract/session.ts';
import { schemaProblem } from '../activities/model/answer-schema.ts';
import type { Store } from '../activities/transcript/store/store.ts';
import { ClientProblem } from './problem.ts';

/**
 * Bytes of JSON, in which one character may take six. A session takes up to 10,000 signals before it continues as new, and a message
 * lies in its history twice: as it came and as it was taken. A session full of them stays well below the 50 MB at which the server
 * ends it.
 */
export const LARGEST_INLINE = 1024;
const LARGEST = 64 * 1024 * 1024;
/** Characters, for lists. */
const TITLE = 120;

export function newMessageId(): MessageId {
  return randomUUID() as MessageId;
}

/** A sentence that says what is wrong with a message's id, or undefined. */
export function messageIdProblem(id: string): string | undefined {
  if (id !== '' && id.length <= LONGEST_ID) return undefined;
  return `the message's id has ${id.length} characters: give 1 to ${LONGEST_ID}, or none to have one made`;
}

/** A sentence that says what is wrong with a prompt, or undefined. */
export function promptProblem(text: string): string | undefined {
  if (text.trim() === '') return 'the prompt is empty: say what is to be done';
  return text.length > LARGEST
    ? `the prompt is over ${LARGEST / 1024 / 1024} MB: put it in a file and name it`
    : undefined;
}

/** Durable before it is sent, so that a message never refers to what is not there. Throws StoreError. */
export async function messageBody(store: Store, text: string): Promise<MessageBody> {
  if (text.length <= LARGEST_INLINE && Buffer.byteLength(JSON.stringify(text)) <= LARGEST_INLINE)
    return { kind: 'text', text };
  const bytes = new TextEncoder().encode(text);
  return { kind: 'stored', hash: await store.put(bytes), bytes: bytes.length };
}

export function titleOf(text: string): string {
  const line = text
    .slice(0, TITLE * 4)
    .trim()
    .replaceAll(/\s+/g, ' ');
  return Array.from(line).slice(0, TITLE).join('');
}

export async function messageOf(
  store: Store,
  text: string,
  id = newMessageId(),
  options?: OptionChanges,
): Promise<UserMessage> {
  const problem = promptProblem(text) ?? messageIdProblem(id) ?? (options && wrongWith(options));
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  const changes = options && Object.keys(options).length > 0 ? { options } : {};
  return { id, body: await messageBody(store, text), ...changes };
}

/** A sentence that says what is wrong with the options, or undefined. */
export function wrongWith(changes: OptionChanges): string | undefined {
  const options = withChanges<Partial<RunOptions>>({}, changes);
  return optionsProblem(options) ?? schemaProblem(options.outputSchema);
}
