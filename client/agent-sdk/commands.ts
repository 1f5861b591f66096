// Reads the commands that a program may send in the place of a prompt.
import type { CompactionAsked } from '../../workflows/contract/session.ts';
import type { Prompt } from '../sessions/prompt.ts';
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
export function parseCompaction(content: Prompt | SDKUserMessage['message']['content']): CompactionAsked | undefined {
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
 * A part holds the messages up to a `/clear`, or to the end. `clearedBy` returns the `/clear` once
 * the part has been read to its end.
 */
export type PromptPart = { readonly prompt: QueryPrompt; readonly clearedBy: () => Partial<SDKUserMessage> | null };

/** Yields the parts of a prompt. Read each part to its end before asking for the next one. */
export function* promptParts(prompt: QueryPrompt): Generator<PromptPart, void> {
  if (typeof prompt === 'string') {
    if (!isClear(prompt)) return yield { prompt, clearedBy: () => null };
    yield { prompt: emptyPrompt(), clearedBy: () => ({}) };
    return yield { prompt: emptyPrompt(), clearedBy: () => null };
  }
  const messages = prompt[Symbol.asyncIterator]();
  for (;;) {
    let clearedBy: SDKUserMessage | null = null;
    const part = async function* (): AsyncGenerator<SDKUserMessage, void> {
      for (let next = await messages.next(); ; next = await messages.next()) {
        if (next.done) return;
        if (isClear(next.value.message.content)) {
          clearedBy = next.value;
          return;
        }
        yield next.value;
      }
    };
    yield { prompt: part(), clearedBy: () => clearedBy };
    if (clearedBy === null) return;
  }
}

async function* emptyPrompt(): AsyncGenerator<SDKUserMessage, void> {}
