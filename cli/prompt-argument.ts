// Reads the text of a task or a message (an argument, standard input, or a file for what is too
// long for a command line), and its images and documents (L85).
import { resolve } from 'node:path';
import { UsageError } from './errors.ts';
import { readNamedFile, whyUnread } from '../system/read-named-file.ts';
import { codeOf } from '../system/text.ts';
import { promptProblem, examineMedia, maxBytesOf, mediaBlock } from '../client/faces/sessions.ts';
import type { Prompt, PromptBlock } from '../client/faces/types.ts';
import { withPiped } from './typing/piped.ts';
import type { Cli } from './cli.ts';
import { readFileSync, statSync } from 'node:fs';
import { addValue } from './repeatable.ts';

/**
 * Reads the text of a task or a message: an argument, standard input, or a file for texts too long
 * for a command line. Throws UsageError when it is missing, empty, or given twice.
 */
export async function readPrompt(cli: Cli, text: string | undefined, file: string | undefined): Promise<string> {
  if (text !== undefined && file !== undefined) throw new UsageError('give either the text or --prompt-file, not both');
  const content = file !== undefined ? fromFile(resolve(cli.cwd(), file)) : text === '-' ? await cli.readInput() : text;
  if (content === undefined)
    throw new UsageError('the task is missing: give a text in quotes, - for standard input, or --prompt-file');
  const piped = text === '-' || content.trim() === '' ? null : await cli.readBeside();
  const prompt = piped === null || piped.trim() === '' ? content : withPiped(content, piped);
  const problem = promptProblem(prompt);
  if (problem !== undefined) throw new UsageError(problem);
  return prompt;
}

function fromFile(path: string): string {
  try {
    return readNamedFile(path);
  } catch (error) {
    const why = codeOf(error) === 'EISDIR' ? 'is a directory' : whyUnread(error);
    throw new UsageError(`the prompt file ${path} ${why}: name another, or write - and pipe the text in`);
  }
}

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
