// A prompt as the API renders it for caching and counting: tools, then system, then messages, block by block.
import type { ContentBlockParam } from '@anthropic-ai/sdk/resources/messages';
import { blocksOf } from './read-request.ts';
import type { ParsedRequest } from './script.ts';

export type PromptBlock = {
  /** What the block says, without its cache_control: equal blocks have equal parts. */
  readonly parts: readonly string[];
  readonly bytes: number;
  /** Set where a cache_control stands. */
  readonly breakpoint?: '5m' | '1h';
};

/** An image or a document costs about 1,600 tokens, whatever its bytes. */
const MEDIA_BYTES = 6_400;

export function promptBlocks(request: ParsedRequest): readonly PromptBlock[] {
  const blocks: PromptBlock[] = [];
  for (const tool of request.tools ?? []) blocks.push(block(tool, [json(tool)]));
  const system = typeof request.system === 'string' ? [{ text: request.system }] : (request.system ?? []);
  for (const part of system) blocks.push(block(part, ['system', part.text]));
  // A change of these keeps tools and system cached, and loses the messages.
  const settings = JSON.stringify([request.tool_choice ?? null, request.thinking ?? null]);
  for (const [index, message] of request.messages.entries()) {
    for (const content of blocksOf(message.content)) {
      blocks.push(
        block(content, [...(index === 0 ? [settings] : []), message.role, ...contentParts(content)], content),
      );
    }
  }
  const last = blocks.at(-1);
  if (request.cache_control && last !== undefined) {
    blocks[blocks.length - 1] = { ...last, breakpoint: request.cache_control.ttl ?? '5m' };
  }
  return blocks;
}

export function promptTokens(blocks: readonly PromptBlock[]): number {
  return bytesToTokens(blocks.reduce((sum, { bytes }) => sum + bytes, 0));
}

export function bytesToTokens(bytes: number): number {
  return Math.ceil(bytes / 4);
}

type Cacheable = { readonly cache_control?: { readonly ttl?: '5m' | '1h' } | null };

function block(source: object, parts: readonly string[], content?: ContentBlockParam): PromptBlock {
  const control = (source as Cacheable).cache_control ?? nestedControl(content);
  const media = content?.type === 'image' || content?.type === 'document';
  const bytes = media ? MEDIA_BYTES : parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0);
  return { parts, bytes, ...(control ? { breakpoint: control.ttl ?? '5m' } : {}) };
}

function nestedControl(content: ContentBlockParam | undefined): Cacheable['cache_control'] {
  if (content?.type !== 'tool_result' || typeof content.content === 'string') return undefined;
  return content.content?.map((part) => (part as Cacheable).cache_control).findLast((control) => control);
}

/** Long texts are handed on as they are: to serialise them again would cost more than everything else. */
function contentParts(content: ContentBlockParam): readonly string[] {
  if (content.type === 'text') return ['text', content.text];
  if (content.type === 'tool_result' && typeof content.content === 'string') {
    return ['tool_result', content.tool_use_id, String(content.is_error === true), content.content];
  }
  return [json(content)];
}

function json(value: object): string {
  return JSON.stringify(value, (key, inner: unknown) => (key === 'cache_control' ? undefined : inner));
}
