// A session's id as an argument: checked before a server is opened for it.
import { resolve } from 'node:path';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { sessionIdProblem } from '../sessions/info.ts';
import { UsageError } from './errors.ts';
import { readNamedFile, whyUnread } from '../../worker/config/read-named-file.ts';
import { codeOf } from '../../activities/text.ts';
import { promptProblem } from '../sessions/prompt.ts';
import type { Cli } from './cli.ts';

/** Throws UsageError. */
export function sessionArgument(id: string): SessionId {
  const problem = sessionIdProblem(id);
  if (problem !== undefined) throw new UsageError(problem);
  return id as SessionId;
}

// The text of a task or a message: an argument, standard input, or a file for what is too long for a command line.

/** Throws UsageError when there is none, it is empty, or it is given twice. */
export async function readPrompt(cli: Cli, text: string | undefined, file: string | undefined): Promise<string> {
  if (text !== undefined && file !== undefined) throw new UsageError('give either the text or --prompt-file, not both');
  const prompt = file !== undefined ? fromFile(resolve(cli.cwd(), file)) : text === '-' ? await cli.readInput() : text;
  if (prompt === undefined)
    throw new UsageError('the task is missing: give a text in quotes, - for standard input, or --prompt-file');
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
