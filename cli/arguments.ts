// A session's id as an argument: checked before a server is opened for it. And whoever gives it, by
// name.
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { SessionId } from '../workflows/contract/ids.ts';
import { isName } from '../workflows/contract/people.ts';
import { sessionIdProblem } from '../client/sessions/info.ts';
import { WORKFLOW_TYPE } from '../workflows/contract/session.ts';
import type { Opened } from '../client/runtime/open-server.ts';
import { ClientProblem } from '../client/problem.ts';
import { UsageError } from './errors.ts';
import { readNamedFile, whyUnread } from '../system/read-named-file.ts';
import { codeOf } from '../system/text.ts';
import { type Prompt, promptProblem, type PromptBlock } from '../client/sessions/prompt.ts';
import { examineMedia, maxBytesOf, mediaBlock } from '../store/transcript/media.ts';
import { withPiped } from './typing/piped.ts';
import type { Cli } from './cli.ts';
import { added } from './repeatable.ts';

/**
 * The name under which transcripts have what is done here, and by which whoever is second is told
 * who was first (O12).
 */
export function personAt({ env }: Pick<Cli, 'env'>): { readonly by?: string; readonly querySource: 'cli' } {
  const name = env['USER']?.trim();
  return { querySource: 'cli', ...(isName(name) ? { by: name } : {}) };
}

/** Throws UsageError. */
export function sessionArgument(id: string): SessionId {
  const problem = sessionIdProblem(id);
  if (problem !== undefined) throw new UsageError(problem);
  return id as SessionId;
}

/** As they are made here: there is nothing to complete. */
const WHOLE = /^s-[0-9a-z]{10}$/;

export const isWholeId = (id: string): boolean => WHOLE.test(id);

/** Of those that begin so, as many are named. */
const NAMED = 5;

/**
 * The session of this id, or the only one whose id begins so. Throws UsageError when there are
 * several; whether there is one at all is found out later.
 */
export async function sessionMeant(
  { temporal, sessions }: Pick<Opened, 'temporal' | 'sessions'>,
  given: SessionId,
): Promise<SessionId> {
  if (WHOLE.test(given) || (await isThere(sessions, given))) return given;
  const found = new Set<string>();
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND WorkflowId STARTS_WITH '${given}'`;
  for await (const { workflowId } of temporal.client.workflow.list({ query, pageSize: 100 })) {
    found.add(workflowId);
    if (found.size > NAMED) break;
  }
  const [only, ...others] = found;
  if (others.length === 0) return (only ?? given) as SessionId;
  const named = [...found].slice(0, NAMED).join(', ');
  throw new UsageError(
    `several sessions begin with ${given}: ${named}${found.size > NAMED ? ', …' : ''}; write more of it`,
  );
}

async function isThere(sessions: Opened['sessions'], id: SessionId): Promise<boolean> {
  try {
    await sessions.describe(id);
    return true;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return false;
    throw error;
  }
}

// The text of a task or a message: an argument, standard input, or a file for what is too long for
// a command line.

/** Throws UsageError when there is none, it is empty, or it is given twice. */
export async function readPrompt(cli: Cli, text: string | undefined, file: string | undefined): Promise<string> {
  if (text !== undefined && file !== undefined) throw new UsageError('give either the text or --prompt-file, not both');
  const given = file !== undefined ? fromFile(resolve(cli.cwd(), file)) : text === '-' ? await cli.readInput() : text;
  if (given === undefined)
    throw new UsageError('the task is missing: give a text in quotes, - for standard input, or --prompt-file');
  const piped = text === '-' || given.trim() === '' ? null : await cli.readBeside();
  const prompt = piped === null || piped.trim() === '' ? given : withPiped(given, piped);
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

// The images and documents of a task or a message (L85).

export type MediaFlags = { readonly image?: readonly string[] };

export const MEDIA_OPTION = [
  '--image <file>',
  'an image (png, jpeg, gif, webp) or a PDF that the model sees with the text; repeatable',
  added,
] as const;

/** In the order given, before the text, as models look at them best. Throws UsageError. */
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
