// Reads the commands that a program may send in the place of a prompt.
import type { CompactionRequest, Prompt } from '../faces/types.ts';
import type { SlashCommand } from './shapes/facts.ts';
import type { SDKUserMessage } from './shapes/messages.ts';
import type { QueryPrompt } from './shapes/query.ts';

export const COMMANDS: readonly SlashCommand[] = [
  {
    name: 'compact',
    description: 'Sums up what was said, and goes on with the summary',
    argumentHint: '[instructions for the summary]',
    builtin: true,
  },
  {
    name: 'clear',
    description: 'Goes on in a new session, which knows nothing of this one',
    argumentHint: '',
    aliases: ['reset', 'new'],
    builtin: true,
  },
];

/** Returns the `/compact` that the content asks for, or undefined for a prompt. */
export function parseCompaction(content: Prompt | SDKUserMessage['message']['content']): CompactionRequest | undefined {
  const found = /^\/compact(?:\s([^]*))?$/.exec(textOf(content));
  if (!found) return undefined;
  const instructions = found[1]?.trim();
  return instructions ? { instructions } : {};
}

export function isClear(content: Prompt | SDKUserMessage['message']['content']): boolean {
  return /^\/(?:clear|reset|new)$/.test(textOf(content));
}

/** Returns an empty text for content that is more than a text. */
function textOf(content: Prompt | SDKUserMessage['message']['content']): string {
  if (typeof content === 'string') return content.trim();
  const [first, ...more] = content;
  return first?.type === 'text' && more.length === 0 ? first.text.trim() : '';
}

/**
 * A part holds the messages up to a `/clear`, to the first that needs another worker, or to the
 * end. Both functions answer once the part has been read to its end: `clearedBy` returns the
 * `/clear`, and `goesOn` tells whether the same session goes on with another worker.
 */
export type PromptPart = {
  readonly prompt: QueryPrompt;
  readonly clearedBy: () => Partial<SDKUserMessage> | null;
  readonly goesOn: () => boolean;
};

/**
 * Yields the parts of a prompt. Read each part to its end before asking for the next one.
 * `needsWorker` is asked before each message but the first of a part.
 */
export function* promptParts(prompt: QueryPrompt, needsWorker: () => boolean): Generator<PromptPart, void> {
  const goesOn = (): boolean => false;
  if (typeof prompt === 'string') {
    if (!isClear(prompt)) return yield { prompt, clearedBy: () => null, goesOn };
    yield { prompt: emptyPrompt(), clearedBy: () => ({}), goesOn };
    return yield { prompt: emptyPrompt(), clearedBy: () => null, goesOn };
  }
  const messages = prompt[Symbol.asyncIterator]();
  let pending: SDKUserMessage | null = null;
  const nextMessage = async (): Promise<SDKUserMessage | null> => {
    const next = await messages.next();
    return next.done ? null : next.value;
  };
  for (;;) {
    let clearedBy: SDKUserMessage | null = null;
    const part = async function* (first: SDKUserMessage | null): AsyncGenerator<SDKUserMessage, void> {
      pending = null;
      let isFirst = true;
      for (let message = first ?? (await nextMessage()); message !== null; message = await nextMessage()) {
        if (isClear(message.message.content)) {
          clearedBy = message;
          return;
        }
        if (!isFirst && needsWorker()) {
          pending = message;
          return;
        }
        isFirst = false;
        yield message;
      }
    };
    yield { prompt: part(pending), clearedBy: () => clearedBy, goesOn: () => pending !== null };
    if (clearedBy === null && pending === null) return;
  }
}

async function* emptyPrompt(): AsyncGenerator<SDKUserMessage, void> {}
