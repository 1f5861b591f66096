// Reads from the request alone how far the demo task has come: the server keeps nothing of a demo.
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { blocksOf, toolResultsIn } from '../read-request.ts';
import type { ParsedRequest } from '../script.ts';

export type DoneCall = {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: string;
  readonly isError: boolean;
};

/**
 * The calls of each reply since the task, with their results; null when the last thing a user said
 * is not the task.
 */
export function roundsOf(request: ParsedRequest): readonly (readonly DoneCall[])[] | null {
  const start = request.messages.findLastIndex((message) => prompts(message).length > 0);
  const task = request.messages[start];
  if (task === undefined || !prompts(task).some(isDemoTask)) return null;
  const since = request.messages.slice(start + 1);
  return since.flatMap((message, index) => (message.role === 'assistant' ? [callsOf(message, since[index + 1])] : []));
}

/** Returns a user's words in a message. A text wholly inside a tag was put there by the program. */
function prompts(message: MessageParam): readonly string[] {
  if (message.role !== 'user') return [];
  const texts = blocksOf(message.content).flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.filter((text) => !/^\s*<([a-z][\w-]*)>[^]*<\/\1>\s*$/i.test(text));
}

function callsOf(reply: MessageParam, next: MessageParam | undefined): readonly DoneCall[] {
  const results = new Map(toolResultsIn(next === undefined ? [] : blocksOf(next.content)).map((one) => [one.id, one]));
  return blocksOf(reply.content).flatMap((block) => {
    if (block.type !== 'tool_use') return [];
    const result = results.get(block.id);
    const input = block.input as DoneCall['input'];
    return [{ name: block.name, input, output: result?.text ?? '', isError: result?.isError ?? true }];
  });
}

// Which folders of a project get a row of their own, chosen from the source files that were found.

/**
 * File name endings of source code, one glob call each, so that a large project shows more of
 * itself.
 */
export const LANGUAGES: readonly (readonly string[])[] = [
  'ts tsx mts cts js jsx mjs cjs vue svelte',
  'py rb php pl lua r jl ex exs erl hs ml clj sh bash sql',
  'go rs java kt kts scala swift cs fs dart zig c h cc cpp hpp m mm',
].map((endings) => endings.split(' '));

export function sourceGlob(endings: readonly string[]): string {
  return `**/*.{${endings.join(',')}}`;
}

/** Other people's code and what a build leaves, at the top of a project. */
const NOT_OURS =
  /^(?:node_modules|bower_components|vendor|dist|build|out|target|coverage|venv|__pycache__|\.[^/]+)(?:\/|$)/;

export function isNotOurs(path: string): boolean {
  return NOT_OURS.test(path);
}

const MOST_ROWS = 24;

type Folders = {
  readonly names: readonly string[];
  /** Folders to be left out of every count. */
  readonly notOurs: readonly string[];
  /** With the files directly in the project, `names` hold every path of its own. */
  readonly covers: boolean;
};

export function chooseFolders(found: readonly string[]): Folders {
  const paths = found.map((path) => path.replace(/^\.\//, ''));
  const own = paths.filter((path) => !isNotOurs(path));
  const top = sizes(own, 1);
  const inner = top.size === 1 ? sizes(own, 2) : top;
  const byFolder = inner.size >= 2 ? inner : top;
  const largest = [...byFolder].sort(([, a], [, b]) => b - a).slice(0, MOST_ROWS);
  const held = largest.reduce((sum, [, size]) => sum + size, 0);
  const atRoot = own.filter((path) => !path.includes('/')).length;
  return {
    names: largest.map(([name]) => name).sort(),
    notOurs: [...sizes(paths.filter(isNotOurs), 1).keys()].sort(),
    covers: held + atRoot === own.length,
  };
}

/**
 * Globs for what a cut listing did not reach: one folder has taken most of it, so these leave out
 * what begins as that one does. Empty when no folder stands out or its name cannot stand in a glob.
 */
export function furtherGlobs(found: readonly string[]): readonly string[] {
  const [first] = [...sizes(found, 1)].sort(([, a], [, b]) => b - a);
  const initial = first?.[0].charAt(0) ?? '';
  return /\w/.test(initial) ? LANGUAGES.map((endings) => `[!${initial}]*/${sourceGlob(endings)}`) : [];
}

/** How many of the paths lie under each folder `depth` levels down. */
function sizes(paths: readonly string[], depth: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const path of paths) {
    const segments = path.split('/');
    if (segments.length <= depth) continue;
    const folder = segments.slice(0, depth).join('/');
    found.set(folder, (found.get(folder) ?? 0) + 1);
  }
  return found;
}

// The one task the scripted model can do without a key, and how a prompt is recognised as it.

export const DEMO_TASK =
  'List the source folders of this project, count the lines of each, and write the table to LINES.md';

/** Spaces, line breaks, capitals and a final full stop make no difference. */
export function isDemoTask(text: string): boolean {
  return plain(text) === plain(DEMO_TASK);
}

function plain(text: string): string {
  return text.trim().replace(/\s+/g, ' ').replace(/\.$/, '').toLowerCase();
}
