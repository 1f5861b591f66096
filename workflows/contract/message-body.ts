// What a message says: a text, short or by hash, and images by hash.
import type { Hash } from './ids.ts';

/** `images` stand in the text. A version that does not know them shows the text alone. */
export type MessageBody = (
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'stored'; readonly hash: Hash; readonly bytes: number }
) & { readonly images?: readonly MessageImage[] };

/** An image of a message, its bytes in the store. `at`: the characters of the text that come before it. */
export type MessageImage = {
  readonly hash: Hash;
  readonly bytes: number;
  readonly mediaType: ImageType;
  readonly at: number;
};

export const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'] as const;
export type ImageType = (typeof IMAGE_TYPES)[number];

/** Images in one message: with more, the API takes only small ones. */
export const MOST_IMAGES = 20;

/** An image's share of a window, as characters of text: the API counts 1,600 tokens for one of the largest that it does not shrink. */
export const IMAGE_CHARACTERS = 6_400;

/** The size of a message in a request, about. */
export function bodyCharacters(body: MessageBody): number {
  const text = body.kind === 'text' ? body.text.length : body.bytes;
  return text + (body.images?.length ?? 0) * IMAGE_CHARACTERS;
}
