// The write tool: puts a whole file in place. Writing the same content twice is the same as once, so a call that died runs again.
import { z } from 'zod';
import { countLines } from '../../transcript/preview.ts';
import { defineTool, ToolFailure, type Tool } from '../tool.ts';
import { type BuiltinOptions, formatCount, shownName } from './files/options.ts';
import { confine, fromRoot, workspaceOf } from './files/confine.ts';
import { lookAtFile } from './files/open-inside.ts';
import {
  hiddenGitProblem,
  namesGitFolder,
  guardDecision,
  hiddenGuardProblem,
  writeInside,
} from './files/write-inside.ts';

export function writeTool({ dataDir, sandbox: { places } }: BuiltinOptions): Tool {
  return defineTool({
    name: 'write',
    description:
      'Creates or replaces a file in the workspace with the given content, and makes the folders it needs. ' +
      'To change part of a file, use edit.',
    inputSchema: z.strictObject({
      path: z.string().describe('The file, in the workspace'),
      content: z.string().describe('All of its new content'),
    }),
    risk: ({ path }, context) => (namesGitFolder(fromRoot(path, context)) ? 'execute' : 'write'),
    recovery: 'rerun',
    canUse: ({ path }, context) => guardDecision(places, path, context),
    subject: ({ path }, context) => ({ kind: 'path', path: fromRoot(path, context) }),
    async call({ path, content }, context) {
      const { signal, fence } = context;
      const workspace = workspaceOf(context, dataDir);
      const target = await confine(workspace, path);
      const problem =
        hiddenGitProblem(fromRoot(path, context), target.name) ??
        hiddenGuardProblem(places, path, target.path, context);
      if (problem !== undefined) throw new ToolFailure(problem);
      const bytes = Buffer.from(content);
      const did = await writeInside(workspace, target, bytes, { fence, signal });
      return {
        ...(await lookAtFile(target.path)),
        content: `${did} ${shownName(target.name)} (${formatCount(countLines(content), 'line')}, ${formatCount(bytes.length, 'byte')})`,
      };
    },
  });
}
