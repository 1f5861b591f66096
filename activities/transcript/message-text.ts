// What a message says, without what it does.
import type { Message } from '@anthropic-ai/sdk/resources/messages';

/** Its text blocks, joined as they came. */
export function messageText({ content }: Pick<Message, 'content'>): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
