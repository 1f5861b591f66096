// The edit tool: replaces exact text in a file, byte for byte, so that what it does not touch stays as it is, whatever its encoding.
// Doing it twice may do more than once, so a call that died is reported, not repeated (L40).
import type { Stats } from 'node:fs';
import { z } from 'zod';
import { defineTool, ToolFailure, type Tool, type ToolContext } from '../tool.ts';
import { type BuiltinOptions, formatCount, shownName } from './files/options.ts';
import { confine, type Confined, type Workspace, quotePath, fromRoot, workspaceOf } from './files/confine.ts';
import { lookAtFile, openFile } from './files/open-inside.ts';
import {
  hiddenGitProblem,
  namesGitFolder,
  guardDecision,
  hiddenGuardProblem,
  writeInside,
} from './files/write-inside.ts';
import { replaceText, type Replacement } from './files/replace-text.ts';

const MAX_BYTES = 16 * 1024 * 1024;

export function editTool({ dataDir, sandbox: { places } }: BuiltinOptions): Tool {
  return defineTool({
    name: 'edit',
    description:
      'Replaces text in a file of the workspace. old_string must match exactly, white space included, and only once ' +
      'unless replace_all is true. Line ends of the file (LF or CRLF) are kept.',
    inputSchema: z.strictObject({
      path: z.string().describe('The file, in the workspace'),
      old_string: z.string().min(1).describe('The text to replace, with enough around it to be unique'),
      new_string: z.string().describe('What to put in its place'),
      replace_all: z.boolean().optional().describe('Replace every occurrence'),
    }),
    risk: ({ path }, context) => (namesGitFolder(fromRoot(path, context)) ? 'execute' : 'write'),
    recovery: 'report',
    canUse: ({ path }, context) => guardDecision(places, path, context),
    subject: ({ path }, context) => ({ kind: 'path', path: fromRoot(path, context) }),
    async call(input, context: ToolContext) {
      const { signal, fence } = context;
      const workspace = workspaceOf(context, dataDir);
      const target = await confine(workspace, input.path);
      const problem =
        hiddenGitProblem(fromRoot(input.path, context), target.name) ??
        hiddenGuardProblem(places, input.path, target.path, context);
      if (problem !== undefined) throw new ToolFailure(problem);
      const { bytes, stats } = await readWhole(workspace, target);
      const options = { all: input.replace_all ?? false, most: MAX_BYTES };
      const replaced = replaceText(bytes, input.old_string, input.new_string, options);
      if (replaced.kind !== 'replaced') throw new ToolFailure(refusal(quotePath(input.path), replaced));
      await writeInside(workspace, target, replaced.bytes, { fence, signal, unchanged: stats });
      const where = `${replaced.lines.length === 1 ? 'line' : 'lines'} ${listed(replaced.lines)}`;
      return {
        ...(await lookAtFile(target.path)),
        content: `edited ${shownName(target.name)} (${formatCount(replaced.lines.length, 'replacement')}, ${where})`,
      };
    },
  });
}

async function readWhole(workspace: Workspace, target: Confined): Promise<{ bytes: Buffer; stats: Stats }> {
  const { handle, stats } = await openFile(workspace, target);
  try {
    if (stats.size > MAX_BYTES) throw new ToolFailure(`${quotePath(target.name)} is too large to edit (over 16 MiB).`);
    return { bytes: await handle.readFile(), stats };
  } finally {
    await handle.close();
  }
}

function refusal(path: string, problem: Exclude<Replacement, { kind: 'replaced' }>): string {
  switch (problem.kind) {
    case 'same':
      return 'old_string and new_string are the same: nothing to change.';
    case 'absent':
      return `old_string was not found in ${path}. It must match exactly: read the file and copy the text.`;
    case 'too_many':
      return `old_string was found more than 100,000 times in ${path}: use a longer one.`;
    case 'too_large':
      return `With that ${path} would become too large to edit (over 16 MiB): nothing was changed.`;
    case 'ambiguous':
      return (
        `old_string was found ${problem.lines.length} times in ${path} (lines ${listed(problem.lines)}). ` +
        'Add text around it until it is unique, or set replace_all.'
      );
  }
}

function listed(lines: readonly number[]): string {
  return lines.length <= 10 ? lines.join(', ') : `${lines.slice(0, 10).join(', ')}, …`;
}
