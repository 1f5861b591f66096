// The edit tool: replaces exact text in a file, byte for byte, so that the rest stays as it is,
// whatever its encoding. Doing it twice may do more than once, so a call that died is reported, not
// repeated (L40).
import type { Stats } from 'node:fs';
import { z } from 'zod';
import { defineTool, ToolFailure, type Tool, type ToolContext } from '../tool.ts';
import type { BuiltinOptions } from './files/options.ts';
import { formatAmount, quoteIfNeeded } from './files/wording.ts';
import { confine, type ConfinedPath, fromRoot, toWorkspace, type Workspace } from './files/confine.ts';
import { quotePath } from './files/fs-failures.ts';
import { openFile } from './files/open-inside.ts';
import { decodeFile, encodeFile, isPlainAscii, MARK_NAMES, detectMark, type FileText } from './files/encoding.ts';
import { decideByGuard, checkHiddenGuard, checkHiddenGit, namesGitFolder } from './files/guards.ts';
import { breaksNotebook, replaceInCells } from './files/edit-notebook.ts';
import { describeNearestLine } from './files/lookalikes.ts';
import { isNotebook } from './files/notebook.ts';
import { replaceText, type Replacement } from './files/replace-text.ts';
import { describeParted, writeInside } from './files/write-inside.ts';

const MAX_BYTES = 16 * 1024 * 1024;

export function createEditTool({ dataDir, sandbox: { places, programs } }: BuiltinOptions): Tool {
  /** Finds the file and replaces in memory. Throws ToolFailure. */
  const prepareEdit = async (input: EditInput, context: ToolContext) => {
    const workspace = toWorkspace(context, dataDir);
    const target = confine(workspace, input.path);
    const problem =
      checkHiddenGit(fromRoot(input.path, context), target.name) ??
      checkHiddenGuard(places, input.path, target.path, context);
    if (problem !== undefined) throw new ToolFailure(problem);
    const { bytes, stats } = await readWhole(workspace, target);
    return { workspace, target, stats, replaced: replaceIn(bytes, input) };
  };
  return defineTool({
    name: 'edit',
    description:
      'Replaces text in a file of the workspace. old_string must match exactly, white space included, and only once ' +
      'unless replace_all is true. Line ends of the file (LF or CRLF) are kept. A cell of a notebook is changed by its text as read shows it.',
    inputSchema: z.strictObject({
      path: z.string().describe('The file, in the workspace'),
      old_string: z.string().min(1).describe('The text to replace, with enough around it to be unique'),
      new_string: z.string().describe('What to put in its place'),
      replace_all: z.boolean().optional().describe('Replace every occurrence'),
    }),
    risk: ({ path }, context) => (namesGitFolder(fromRoot(path, context)) ? 'execute' : 'write'),
    recovery: 'report',
    canUse: ({ path }, context) => decideByGuard(places, path, context),
    subject: ({ path }, context) => ({ kind: 'path', path: fromRoot(path, context) }),
    wouldFail: async (input, context) => {
      try {
        await prepareEdit(input, context);
        return undefined;
      } catch (error) {
        if (error instanceof ToolFailure) return error.message;
        throw error;
      }
    },
    async call(input, context: ToolContext) {
      const { signal, fence } = context;
      const { workspace, target, stats, replaced } = await prepareEdit(input, context);
      const { parted, facts } = await writeInside(workspace, target, replaced.bytes, {
        fence,
        signal,
        unchanged: stats,
        programs,
      });
      const where = `${replaced.lines.length === 1 ? 'line' : 'lines'} ${listLines(replaced.lines)}`;
      return {
        seen: [facts],
        content: `edited ${quoteIfNeeded(target.name)} (${formatAmount(replaced.lines.length, 'replacement')}, ${where})${describeParted(parted)}`,
      };
    },
  });
}

type EditInput = {
  readonly path: string;
  readonly old_string: string;
  readonly new_string: string;
  readonly replace_all?: boolean | undefined;
};

/** Replaces the text. Throws ToolFailure. */
function replaceIn(
  bytes: Buffer,
  { path, old_string, new_string, replace_all = false }: EditInput,
): Extract<Replacement, { kind: 'replaced' }> {
  const file = decodeFile(bytes);
  const problem = checkEncoding(file, old_string + new_string);
  if (problem !== undefined) throw new ToolFailure(`${quotePath(path)} ${problem}`);
  // A byte order mark does not belong to the text, wherever it was copied from.
  const [before, after] = [stripMark(old_string), stripMark(new_string)];
  if (before === '') throw new ToolFailure('old_string is a byte order mark alone: the mark of a file is kept.');
  const text = file.kind === 'text' ? file.utf8 : bytes;
  const options = { all: replace_all, most: MAX_BYTES };
  const isAsked = isNotebook(path) && file.kind === 'text';
  const inCells = isAsked ? replaceInCells(text.toString('utf8'), before, after, options) : undefined;
  const isUnknown = file.kind === 'unknown' && detectMark(bytes) === 'none';
  const replaced =
    inCells === undefined || inCells.kind === 'absent'
      ? replaceText(text, before, after, { ...options, unknown: isUnknown })
      : inCells;
  if (inCells && replaced.kind === 'replaced' && breaksNotebook(text.toString('utf8'), replaced.bytes.toString('utf8')))
    throw new ToolFailure(`With that ${quotePath(path)} would be no notebook any more: ${CELLS}`);
  if (inCells && replaced.kind === 'absent')
    throw new ToolFailure(
      `old_string was not found in a cell of the notebook ${quotePath(path)}, nor in its JSON: ${CELLS}`,
    );
  if (replaced.kind === 'replaced') {
    return file.kind === 'text' ? { ...replaced, bytes: encodeFile(replaced.bytes, file.mark) } : replaced;
  }
  const nearest = replaced.kind === 'absent' ? describeNearestLine(text.toString('utf8'), before) : undefined;
  throw new ToolFailure([describeRefusal(quotePath(path), replaced), nearest].filter(Boolean).join(' '));
}

const CELLS = 'give text of one cell, as read shows it, without the lines that name cells and outputs.';

function checkEncoding(file: FileText, texts: string): string | undefined {
  if (file.kind === 'binary' || texts.includes('\0'))
    return 'is not edited: it, or the text, holds a NUL, so that it is a binary file.';
  if (file.kind === 'broken') return `begins as ${MARK_NAMES[file.mark]} and is none: change it with a command.`;
  if (file.kind === 'text' || isPlainAscii(texts)) return undefined;
  return 'is no UTF-8, and in which encoding it is nobody says: an edit of ASCII characters keeps all others, any other is refused. Change it with a command (iconv).';
}

const stripMark = (text: string): string => (text.startsWith('\ufeff') ? text.slice(1) : text);

async function readWhole(workspace: Workspace, target: ConfinedPath): Promise<{ bytes: Buffer; stats: Stats }> {
  const { handle, stats } = await openFile(workspace, target);
  try {
    if (stats.size > MAX_BYTES) throw new ToolFailure(`${quotePath(target.name)} is too large to edit (over 16 MiB).`);
    return { bytes: await handle.readAll(stats.size), stats };
  } finally {
    handle.close();
  }
}

function describeRefusal(path: string, problem: Exclude<Replacement, { kind: 'replaced' }>): string {
  switch (problem.kind) {
    case 'same':
      return 'old_string and new_string are the same: nothing to change.';
    case 'absent':
      return `old_string was not found in ${path}. It must match exactly: read the file and copy the text.`;
    case 'too_many':
      return `old_string was found more than 100,000 times in ${path}: use a longer one.`;
    case 'too_large':
      return `With that ${path} would become too large to edit (over 16 MiB): nothing was changed.`;
    case 'half':
      return `In ${path} old_string follows a byte that may be the first half of a character (lines ${listLines(problem.lines)}), and in which encoding the file is nobody says: begin it further on, or change it with a command (iconv).`;
    case 'ambiguous':
      return (
        `old_string was found ${problem.lines.length} times in ${path} (lines ${listLines(problem.lines)}). ` +
        'Add text around it until it is unique, or set replace_all.'
      );
  }
}

function listLines(lines: readonly number[]): string {
  return lines.length <= 10 ? lines.join(', ') : `${lines.slice(0, 10).join(', ')}, …`;
}
