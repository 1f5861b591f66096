// Checks a user's prompt before anything is sent: a text, or texts, images and documents in the
// shape of the Messages API. A request with a block that the API refuses would end its run.
import {
  examineMedia,
  fitsMessage,
  type MediaBlock,
  sizeProblem,
  TOO_MANY_MEDIA,
} from '../../store/transcript/media.ts';
import { IMAGE_TYPES, type MediaType } from '../../workflows/contract/people.ts';
import { ClientProblem } from '../problem.ts';

export type PromptBlock = { readonly type: 'text'; readonly text: string } | MediaBlock | TextDocument;

/** A document that is text: it becomes a part of the prompt's text, between marks. */
export type TextDocument = {
  readonly type: 'document';
  readonly source: { readonly type: 'text'; readonly media_type: 'text/plain'; readonly data: string };
  readonly title?: string | null | undefined;
  readonly context?: string | null | undefined;
};

/**
 * At most 64 MB of text, also in documents, and 20 images and PDF documents with 20 MB of base64
 * together: an image has at most 5 MB and 8,000 pixels in width and height, a document at most 100
 * pages.
 */
export type Prompt = string | readonly PromptBlock[];

/**
 * `at` counts the characters of text before the medium. `characters` is its share of a window, as
 * characters of text.
 */
type PromptMedium = {
  readonly bytes: Uint8Array;
  readonly mediaType: MediaType;
  readonly characters: number;
  readonly at: number;
};

export type PromptParts = { readonly text: string; readonly media: readonly PromptMedium[] };

const LARGEST = 64 * 1024 * 1024;

/** Returns a sentence that says what is wrong with a prompt's text, or undefined. */
export function promptProblem(text: string): string | undefined {
  if (text.trim() === '') return 'the prompt is empty: say what is to be done';
  return text.length > LARGEST
    ? `the prompt is over ${LARGEST / 1024 / 1024} MB: put it in a file and name it`
    : undefined;
}

/**
 * Splits a prompt into text and media. Media alone get a line that names them, for lists, hooks and
 * readers of texts. Throws ClientProblem `refused`.
 */
export function parsePrompt(prompt: Prompt): PromptParts {
  const { text, media } = typeof prompt === 'string' ? { text: prompt, media: [] } : joinBlocks(prompt);
  const promptText = text.trim() === '' && media.length > 0 ? `(${describeMedia(media)})` : text;
  const problem = promptProblem(promptText) ?? mediaProblem(media);
  if (problem !== undefined) throw new ClientProblem('refused', problem);
  return { text: promptText, media };
}

function describeMedia(media: readonly PromptMedium[]): string {
  const documents = media.filter(({ mediaType }) => mediaType === 'application/pdf').length;
  const images = media.length - documents;
  const counted = (count: number, one: string, many: string): readonly string[] =>
    count === 0 ? [] : [count === 1 ? one : many];
  return [...counted(images, 'an image', 'images'), ...counted(documents, 'a document', 'documents')].join(' and ');
}

/** Joins texts with a line break. */
function joinBlocks(blocks: readonly PromptBlock[]): PromptParts {
  if (!Array.isArray(blocks)) throw new ClientProblem('refused', 'the prompt is neither a text nor a list of blocks');
  let text = '';
  const media: PromptMedium[] = [];
  for (const [index, block] of (blocks as readonly PromptBlock[]).entries()) {
    const words = block.type === 'text' ? block.text : readTextDocument(block, index);
    if (words !== null) text += text === '' ? words : `\n${words}`;
    else media.push({ ...readMedium(block as MediaBlock, index), at: text.length });
  }
  return { text, media };
}

const refuseBlock = (index: number, why: string): ClientProblem =>
  new ClientProblem('refused', `block ${index + 1} of the prompt ${why}`);

/** Returns null for a block of another kind. */
function readTextDocument(block: MediaBlock | TextDocument, index: number): string | null {
  const { type, source, title, context, citations } = block as Partial<TextDocument> & {
    readonly citations?: { readonly enabled?: boolean } | null;
  };
  if (type !== 'document' || source?.type !== 'text') return null;
  if (typeof source.data !== 'string') throw refuseBlock(index, 'is a document without its text: give it as data');
  if (citations?.enabled === true) throw refuseBlock(index, 'asks for citations, which are not made here');
  const named = title ? ` title=${JSON.stringify(title)}` : '';
  const about = context ? `${context}\n` : '';
  return `${about}<document${named}>\n${source.data}\n</document>`;
}

const TAKEN: Readonly<Record<string, readonly MediaType[]>> = { image: IMAGE_TYPES, document: ['application/pdf'] };

function readMedium(block: MediaBlock, index: number): Omit<PromptMedium, 'at'> {
  const refuse = (why: string): ClientProblem => refuseBlock(index, why);
  const { type, source } = block as { readonly type: unknown; readonly source?: Partial<MediaBlock['source']> };
  const accepted = Object.hasOwn(TAKEN, String(type)) ? TAKEN[String(type)]! : null;
  if (accepted === null) throw refuse(`is ${JSON.stringify(type)}: give text, images and PDF documents`);
  const { type: kind, media_type: mediaType, data } = source ?? {};
  const what = type === 'image' ? 'an image' : 'a document';
  if (kind !== 'base64' || typeof data !== 'string')
    throw refuse(`is ${what} without its bytes: give them as { type: "base64", media_type, data }`);
  if (mediaType === undefined || !accepted.includes(mediaType))
    throw refuse(`is ${what} of type ${JSON.stringify(mediaType)}: the API takes ${accepted.join(', ')}`);
  // Check the size first, so that a medium that is too large is not decoded.
  const tooLarge = sizeProblem(mediaType, Math.floor((data.length * 3) / 4));
  if (tooLarge !== undefined) throw refuse(tooLarge);
  const bytes = Buffer.from(data, 'base64');
  const found = examineMedia(bytes);
  if (found?.kind === 'refused') throw refuse(found.problem);
  if (found?.mediaType !== mediaType)
    throw refuse(`is said to be ${mediaType} and is ${found === null ? 'no image or PDF' : found.mediaType}`);
  return { bytes, mediaType, characters: found.characters };
}

function mediaProblem(media: readonly PromptMedium[]): string | undefined {
  const sizes = media.map(({ bytes }) => ({ bytes: bytes.length }));
  return fitsMessage(sizes) ? undefined : `the prompt has ${media.length} images and documents: ${TOO_MANY_MEDIA}`;
}

/** Longest title for lists, in characters. */
const TITLE = 120;

export function titleOf(text: string): string {
  const line = text
    .slice(0, TITLE * 4)
    .trim()
    .replaceAll(/\s+/g, ' ');
  return Array.from(line).slice(0, TITLE).join('');
}
