// A user's prompt: a text, or texts and images in the shape of the Messages API, checked against the API's limits before anything is
// sent. A request with an image that the API refuses would end its run.
import {
  base64Length,
  imageSize,
  LARGEST_IMAGE,
  LARGEST_MEDIA,
  MOST_PIXELS,
} from '../../activities/transcript/media.ts';
import { IMAGE_TYPES, type ImageType, MOST_IMAGES } from '../../workflows/contract/people.ts';
import { ClientProblem } from '../problem.ts';

export type PromptBlock =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'image';
      /** `data`: base64. */
      readonly source: { readonly type: 'base64'; readonly media_type: ImageType; readonly data: string };
    };

/** At most 64 MB of text and 20 images, each of at most 5 MB in base64 and 8,000 pixels in width and height. */
export type Prompt = string | readonly PromptBlock[];

/** `at`: the characters of the text that come before the image. */
export type ReadPrompt = {
  readonly text: string;
  readonly images: readonly { readonly bytes: Uint8Array; readonly mediaType: ImageType; readonly at: number }[];
};

const LARGEST = 64 * 1024 * 1024;

/** A sentence that says what is wrong with a prompt's text, or undefined. */
export function promptProblem(text: string): string | undefined {
  if (text.trim() === '') return 'the prompt is empty: say what is to be done';
  return text.length > LARGEST
    ? `the prompt is over ${LARGEST / 1024 / 1024} MB: put it in a file and name it`
    : undefined;
}

/** An image alone gets a line that names it, for lists, hooks and readers of texts. Throws ClientProblem `refused`. */
export function readPrompt(prompt: Prompt): ReadPrompt {
  const { text, images } = typeof prompt === 'string' ? { text: prompt, images: [] } : joined(prompt);
  const shown = text.trim() === '' && images.length > 0 ? `(${images.length === 1 ? 'an image' : 'images'})` : text;
  const problem = promptProblem(shown) ?? imagesProblem(images);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  return { text: shown, images };
}

/** Texts are set apart by a line break. */
function joined(blocks: readonly PromptBlock[]): ReadPrompt {
  if (!Array.isArray(blocks)) throw new ClientProblem('refused', 'the prompt is neither a text nor a list of blocks');
  let text = '';
  const images: ReadPrompt['images'][number][] = [];
  for (const [index, block] of (blocks as readonly PromptBlock[]).entries()) {
    if (block.type === 'text') text += text === '' ? block.text : `\n${block.text}`;
    else images.push({ ...readImage(block, index), at: text.length });
  }
  return { text, images };
}

function readImage(block: PromptBlock, index: number): Omit<ReadPrompt['images'][number], 'at'> {
  const which = `block ${index + 1} of the prompt`;
  const refuse = (why: string): ClientProblem => new ClientProblem('refused', `${which} ${why}`);
  if (block.type !== 'image')
    throw refuse(`is ${JSON.stringify((block as { type?: unknown }).type)}: give text and images`);
  const { type, media_type: mediaType, data } = block.source;
  if (type !== 'base64' || typeof data !== 'string')
    throw refuse('is an image without its bytes: give them as { type: "base64", media_type, data }');
  if (!IMAGE_TYPES.includes(mediaType))
    throw refuse(`is an image of type ${JSON.stringify(mediaType)}: the API takes ${IMAGE_TYPES.join(', ')}`);
  if (data.length > LARGEST_IMAGE)
    throw refuse(`is an image of ${data.length} bytes in base64: the API takes ${LARGEST_IMAGE}`);
  const bytes = Buffer.from(data, 'base64');
  const size = imageSize(bytes);
  if (size === null || size.mediaType !== mediaType)
    throw refuse(`is said to be ${mediaType} and is ${size === null ? 'no image that is known' : size.mediaType}`);
  if (Math.max(size.width, size.height) > MOST_PIXELS)
    throw refuse(
      `is an image of ${size.width} × ${size.height} pixels: the API takes ${MOST_PIXELS} in width and height`,
    );
  return { bytes, mediaType };
}

function imagesProblem(images: ReadPrompt['images']): string | undefined {
  if (images.length > MOST_IMAGES)
    return `the prompt has ${images.length} images: give at most ${MOST_IMAGES} in a message`;
  const total = images.reduce((sum, { bytes }) => sum + base64Length(bytes.length), 0);
  return total > LARGEST_MEDIA
    ? `the prompt's images have ${total} bytes in base64: give at most ${LARGEST_MEDIA} in a message`
    : undefined;
}
