// The size of a request as an estimate of tokens takes it: images and documents count for what the
// model sees of them.
import type {
  ContentBlockParam,
  DocumentBlockParam,
  ImageBlockParam,
  MessageParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { StoredMedium } from '../../workflows/contract/people.ts';
import { type Bodies, mediaKey } from '../log/bodies.ts';
import { mediaBlock } from './media.ts';

/**
 * What the source of a block counts, in characters: to find that out again would be to look through
 * the bytes of a document.
 */
const shares = new WeakMap<object, number>();

/** Of a message or a result: what it counts for is known from then on. */
export function mediumBlock(
  { hash, mediaType, characters }: StoredMedium,
  bodies: Bodies,
): ImageBlockParam | DocumentBlockParam {
  const data = bodies.get(mediaKey(hash));
  if (data === undefined) throw new Error(`${mediaType} ${hash} was not resolved`);
  const block = mediaBlock(mediaType, data);
  shares.set(block.source, characters);
  return block;
}

/**
 * The size of a request's messages, as an estimate of tokens takes it: an image counts by its size
 * on a screen, a document by its pages.
 */
export function requestCharacters(messages: readonly MessageParam[]): number {
  const inMessages = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  const inResults = inMessages.flatMap((block) => {
    const isList = block.type === 'tool_result' && typeof block.content === 'object';
    return isList ? (block.content as readonly ContentBlockParam[]) : [];
  });
  const sizes = [...inMessages, ...inResults].map((block) => {
    // What only its maker can read of a summary counts nothing.
    if ((block.type as string) === 'compaction')
      return String((block as { content?: unknown }).content).length - JSON.stringify(block).length;
    if ((block.type !== 'image' && block.type !== 'document') || block.source.type !== 'base64') return 0;
    const { length } = block.source.data;
    return (shares.get(block.source) ?? length) - length;
  });
  return sizes.reduce((sum, size) => sum + size, JSON.stringify(messages).length);
}
