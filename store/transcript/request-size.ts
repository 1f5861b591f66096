// Measures the size of a request for an estimate of tokens: images and documents count for what the
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
 * The characters that the source of a block counts for. Finding them out again would mean looking
 * through the bytes of a document.
 */
const shownSizes = new WeakMap<object, number>();

/** Builds the block of an image or a document, and remembers what it counts for. */
export function buildMediumBlock(
  { hash, mediaType, characters }: StoredMedium,
  bodies: Bodies,
): ImageBlockParam | DocumentBlockParam {
  const data = bodies.get(mediaKey(hash));
  if (data === undefined) throw new Error(`${mediaType} ${hash} was not resolved`);
  const block = mediaBlock(mediaType, data);
  shownSizes.set(block.source, characters);
  return block;
}

/** By message, which never changes. */
const known = new WeakMap<MessageParam, number>();

/**
 * Returns the characters of a request's messages as JSON, as an estimate of tokens takes them: an
 * image counts by its size on a screen, a document by its pages.
 */
export function countRequestCharacters(messages: readonly MessageParam[]): number {
  const commas = Math.max(0, messages.length - 1);
  return messages.reduce((sum, message) => sum + countOnce(message), '[]'.length + commas);
}

function countOnce(message: MessageParam): number {
  const found = known.get(message) ?? countCharacters(message);
  known.set(message, found);
  return found;
}

function countCharacters(message: MessageParam): number {
  const blocks = typeof message.content === 'string' ? [] : message.content;
  const inResults = blocks.flatMap((block) => {
    const isList = block.type === 'tool_result' && typeof block.content === 'object';
    return isList ? (block.content as readonly ContentBlockParam[]) : [];
  });
  const sizes = [...blocks, ...inResults].map((block) => {
    // The part of a summary that only its maker can read does not count.
    if ((block.type as string) === 'compaction')
      return String((block as { content?: unknown }).content).length - JSON.stringify(block).length;
    if ((block.type !== 'image' && block.type !== 'document') || block.source.type !== 'base64') return 0;
    const { length } = block.source.data;
    return (shownSizes.get(block.source) ?? length) - length;
  });
  return sizes.reduce((sum, size) => sum + size, JSON.stringify(message).length);
}
