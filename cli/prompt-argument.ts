// Reads the text of a task or a message: an argument, standard input, or a file for what is too
// long for a command line.
import { resolve } from 'node:path';
import { UsageError } from './errors.ts';
import { readNamedFile, whyUnread } from '../system/read-named-file.ts';
import { codeOf } from '../system/text.ts';
import { promptProblem } from '../client/faces/sessions.ts';
import { withPiped } from './typing/piped.ts';
import type { Cli } from './cli.ts';

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
