// Builds what the SDK's own tools answer with, for hooks (`tool_response`) and messages
// (`tool_use_result`), as far as the call and the text of its result have it.
// Makes the messages of the outcomes of calls: one for each, with the structure that the SDK's tool
// answers with as `tool_use_result`.
import type { UUID } from 'node:crypto';
import { present } from '../faces/basics.ts';
import { readStartedId } from '../faces/tools.ts';
import type { Outcome, ReplyEntry } from '../faces/types.ts';
import { outwardInput, outwardName } from './names.ts';
import type { SDKUserMessage } from './shapes/messages.ts';
import { uuidOf } from './values.ts';

type Input = Readonly<Record<string, unknown>>;

type Result = {
  readonly text: string;
  /** How long the call took, where that is known. */
  readonly ms?: number;
};

const RESPONSES: Readonly<Record<string, (result: Result, input: Input) => object>> = {
  Bash: ({ text }, { run_in_background: inBackground }) => ({
    stdout: text === NO_OUTPUT ? '' : text,
    stderr: '',
    interrupted: false,
    isImage: false,
    ...present({ backgroundTaskId: inBackground === true ? (readStartedId(text) ?? undefined) : undefined }),
  }),
  KillShell: ({ text: message }, { shell_id: task_id }) => ({ message, task_id, task_type: 'local_bash' }),
  Read: readResponse,
  Write: ({ text }, { file_path: filePath, content }) => {
    const type = text.startsWith('created ') ? 'create' : 'update';
    return { type, filePath, content, structuredPatch: [], originalFile: null, userModified: false };
  },
  Edit: editResponse,
  Glob: ({ text, ms = 0 }) => {
    const { lines, notes } = splitNotes(text);
    return { filenames: lines, numFiles: lines.length, truncated: isCut(notes), durationMs: ms };
  },
  Grep: grepResponse,
  WebFetch: ({ text, ms = 0 }, { url }) => {
    const bytes = Buffer.byteLength(text);
    return { url, result: text, bytes, code: 200, codeText: 'OK', durationMs: ms };
  },
  TodoWrite: (_, { todos }) => ({ oldTodos: [], newTodos: todos }),
  Agent: agentResponse,
};

/**
 * Takes the SDK's names in `tool` and `input`, for a call that went well. A server's tool gets a
 * list of blocks.
 */
export function toolResponse(tool: string, input: Input, result: Result): object {
  if (tool.startsWith('mcp__')) return [{ type: 'text', text: result.text }];
  return RESPONSES[tool]?.(result, input) ?? { content: result.text };
}

const NO_OUTPUT = '(no output)';

/** The lines of a file have their numbers before them. */
const NUMBERED = /^ *(\d+)\t/;

function readResponse({ text }: Result, { file_path: filePath, offset = 1 }: Input): object {
  const lines = text.split('\n');
  const end = lines.findIndex((line) => !NUMBERED.test(line));
  const numbered = end < 0 ? lines : lines.slice(0, end);
  const isWhole = !lines.some((line) => /^\(lines \d+ to \d+; more follow/.test(line));
  const last = Number(NUMBERED.exec(numbered.at(-1) ?? '')?.[1] ?? 0);
  const content = numbered.map((line) => line.replace(NUMBERED, '')).join('\n');
  const total = present({ totalLines: isWhole ? last : undefined });
  return { type: 'text', file: { filePath, content, numLines: numbered.length, startLine: offset, ...total } };
}

/** The patch has the replaced texts at their lines, without the lines around them. */
function editResponse({ text }: Result, input: Input): object {
  const { file_path: filePath, old_string: oldString = '', new_string: newString = '', replace_all } = input;
  const [before, after] = [linesOf(String(oldString)), linesOf(String(newString))];
  const listed = / lines? (\d+(?:, \d+)*)/.exec(text)?.[1]?.split(', ') ?? [];
  const structuredPatch = listed.map(Number).map((line, at) => ({
    oldStart: line,
    oldLines: before.length,
    newStart: line + at * (after.length - before.length),
    newLines: after.length,
    lines: [...before.map((each) => `-${each}`), ...after.map((each) => `+${each}`)],
  }));
  const facts = { originalFile: null, userModified: false, replaceAll: replace_all === true };
  return { filePath, oldString, newString, structuredPatch, ...facts };
}

function linesOf(text: string): readonly string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n');
}

function grepResponse({ text }: Result, { output_mode: mode = 'content' }: Input): object {
  const { lines, notes } = splitNotes(text);
  const [, matches, files] = /^\((\d+) match(?:es)? in (\d+) files?/m.exec(notes) ?? [];
  if (mode === 'files_with_matches') return { mode, numFiles: lines.length, filenames: lines };
  const counted = { numFiles: Number(files ?? 0), filenames: [], numMatches: Number(matches ?? 0) };
  return { mode, ...counted, content: lines.join('\n'), numLines: lines.length };
}

/** The lines that searches end with, about the files above them. */
const NOTE =
  /^\((?:no matches|no files match|\d+ (?:files?|match(?:es)?)\b|stopped after |not everything |without the )/;

function splitNotes(text: string): { readonly lines: readonly string[]; readonly notes: string } {
  const all = text.split('\n');
  const last = all.findLastIndex((line) => !NOTE.test(line));
  return { lines: all.slice(0, last + 1), notes: all.slice(last + 1).join('\n') };
}

const isCut = (notes: string): boolean => / shown\)|^\(stopped after /m.test(notes);

function agentResponse({ text, ms }: Result, { prompt, description, subagent_type: agentType }: Input): object {
  const started = /^Agent (\S+) works in the background /.exec(text)?.[1];
  if (started !== undefined)
    return { status: 'async_launched', isAsync: true, agentId: started, description, prompt, outputFile: '' };
  const at = text.lastIndexOf('(agent session ');
  const [end = '', session = ''] = /^\(agent session (\S+): [^\n]*\)$/.exec(at < 0 ? '' : text.slice(at)) ?? [];
  const body = text.slice(0, text.length - end.length);
  const tokens = / (\d+) tokens/.exec(end)?.[1];
  const content = [{ type: 'text', text: end === '' ? body : body.trimEnd() }];
  const agentId = session.split('.').at(-1) ?? '';
  const facts = present({ totalTokens: tokens && Number(tokens), totalDurationMs: ms, agentType });
  return { status: 'completed', agentId, content, prompt, ...facts };
}

/** `reply` has the calls. Without it the structure is unknown, and the text takes its place. */
export function resultMessages(
  session: string,
  outcomes: readonly Outcome[],
  position: number,
  reply: ReplyEntry | null,
): readonly SDKUserMessage[] {
  return outcomes.map((outcome, at) => ({
    type: 'user',
    message: { role: 'user', content: [resultBlock(outcome)] },
    tool_use_result: structureOf(outcome, reply),
    session_id: session,
    uuid: resultUuid(session, position, at),
    parent_tool_use_id: null,
  }));
}

/** The id of the message of an outcome, by its place in its entry. */
export function resultUuid(session: string, position: number, at: number): UUID {
  return at === 0 ? uuidOf(session, position) : uuidOf(session, position, at);
}

function resultBlock({ toolUseId, content, isError }: Outcome) {
  const facts = { tool_use_id: toolUseId, content };
  return { type: 'tool_result' as const, ...facts, ...present({ is_error: isError || undefined }) };
}

function structureOf({ index, content: text, isError, log }: Outcome, reply: ReplyEntry | null): unknown {
  if (isError) return `Error: ${text}`;
  const call = reply?.message.content[index];
  if (call?.type !== 'tool_use') return text;
  return toolResponse(outwardName(call.name), outwardInput(call.name, call.input), { text, ms: log.duration });
}
