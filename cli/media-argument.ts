// Reads the images and documents of a task or a message (L85).
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { UsageError } from './errors.ts';
import { whyUnread } from '../system/read-named-file.ts';
import type { Prompt, PromptBlock } from '../client/faces/types.ts';
import { examineMedia, maxBytesOf, mediaBlock } from '../client/faces/sessions.ts';
import type { Cli } from './cli.ts';
import { addValue } from './repeatable.ts';

export type MediaFlags = { readonly image?: readonly string[] };

export const MEDIA_OPTION = [
  '--image <file>',
  'an image (png, jpeg, gif, webp) or a PDF that the model sees with the text; repeatable',
  addValue,
] as const;

/**
 * Reads images and documents in the given order; they come before the text, where models look at
 * them best. Throws UsageError.
 */
export function mediaBlocks(cli: Cli, { image = [] }: MediaFlags): readonly PromptBlock[] {
  return image.map((file) => mediumBlock(resolve(cli.cwd(), file)));
}

export function withMedia(text: string, media: readonly PromptBlock[]): Prompt {
  return media.length === 0 ? text : [...media, { type: 'text', text }];
}

function mediumBlock(path: string): PromptBlock {
  const refuse = (why: string): UsageError => new UsageError(`the file ${path} ${why}`);
  const bytes = bytesOf(path, refuse);
  const found = examineMedia(bytes);
  if (found === null) throw refuse('is nothing that the model is shown: give a png, jpeg, gif, webp or PDF');
  if (found.kind === 'refused') throw refuse(found.problem);
  return mediaBlock(found.mediaType, bytes.toString('base64'));
}

function bytesOf(path: string, refuse: (why: string) => UsageError): Buffer {
  try {
    const stats = statSync(path);
    if (!stats.isFile()) throw refuse('is not a file');
    if (stats.size > maxBytesOf('application/pdf')) throw refuse(`has ${stats.size} bytes: make it smaller`);
    return readFileSync(path);
  } catch (error) {
    throw error instanceof UsageError ? error : refuse(`${whyUnread(error)}: name another`);
  }
}
