// Reads a session's id from an argument and checks it before a server is opened, and names the
// person at the terminal.
import { readFileSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { isName, sessionIdProblem, WORKFLOW_TYPE } from '../client/faces/basics.ts';
import { examineMedia, maxBytesOf, mediaBlock, promptProblem } from '../client/faces/sessions.ts';
import { ClientProblem } from '../client/faces/start.ts';
import type { OpenedServer, Prompt, PromptBlock, SessionId } from '../client/faces/types.ts';
import { readNamedFile, whyUnread } from '../system/read-named-file.ts';
import { codeOf } from '../system/text.ts';
import type { Cli } from './cli.ts';
import { UsageError } from './errors.ts';
import { withPiped } from './typing/piped.ts';

/**
 * Names the person for transcripts, and for someone who decides second and is told who was first
 * (O12).
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

/** Ids that are made here have this form, so they need no completion. */
const WHOLE = /^s-[0-9a-z]{10}$/;

export const isWholeId = (id: string): boolean => WHOLE.test(id);

/** Most sessions to name of those that begin so. */
const NAMED = 5;

/**
 * Returns the session of this id, or the only one whose id begins so. Throws UsageError when
 * several do; an unknown id is found out later.
 */
export async function sessionMeant(
  { temporal, sessions }: Pick<OpenedServer, 'temporal' | 'sessions'>,
  argument: SessionId,
): Promise<SessionId> {
  if (WHOLE.test(argument) || (await isThere(sessions, argument))) return argument;
  const found = new Set<string>();
  const query = `WorkflowType = '${WORKFLOW_TYPE}' AND WorkflowId STARTS_WITH '${argument}'`;
  for await (const { workflowId } of temporal.client.workflow.list({ query, pageSize: 100 })) {
    found.add(workflowId);
    if (found.size > NAMED) break;
  }
  const [only, ...others] = found;
  if (others.length === 0) return (only ?? argument) as SessionId;
  const named = [...found].slice(0, NAMED).join(', ');
  throw new UsageError(
    `several sessions begin with ${argument}: ${named}${found.size > NAMED ? ', …' : ''}; write more of it`,
  );
}

async function isThere(sessions: OpenedServer['sessions'], id: SessionId): Promise<boolean> {
  try {
    await sessions.describe(id);
    return true;
  } catch (error) {
    if (error instanceof ClientProblem && error.kind === 'no_session') return false;
    throw error;
  }
}

// Options that may be given several times, and taken back with `none`.
/** Value that takes back what was given for the session. */
export const NONE = 'none';

export const addValue = (rule: string, before: readonly string[] = []): readonly string[] => [...before, rule];

/**
 * Tells whether a list is just `none`. Throws UsageError for `none` among other values, which would
 * name a model or a rule.
 */
export function isNone(flag: string, list: readonly string[]): boolean {
  if (!list.includes(NONE)) return false;
  if (list.every((item) => item === NONE)) return true;
  throw new UsageError(`${flag} ${NONE} removes all values, but others are given with it: leave one of them out`);
}

/** Reads the pairs of a repeatable flag. Throws UsageError for one without a value. */
export function pairsOf(flag: string, values: readonly string[]): Readonly<Record<string, string>> {
  const pairs = values.map((pair) => {
    const at = pair.indexOf('=');
    if (at < 1) throw new UsageError(`${flag} ${JSON.stringify(pair)} has no value: write name=value`);
    return [pair.slice(0, at), pair.slice(at + 1)] as const;
  });
  return Object.fromEntries(pairs);
}

// Reads the text of a task or a message (an argument, standard input, or a file for what is too
// long for a command line), and its images and documents (L85).
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
