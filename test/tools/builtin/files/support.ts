// The file tools as a model calls them, in one folder: what each of them answers.
import { createEditTool } from '../../../../tools/builtin/edit.ts';
import { createReadTool } from '../../../../tools/builtin/read.ts';
import { createWriteTool } from '../../../../tools/builtin/write.ts';
import { callTool } from '../../../../activities/calls/call-tool.ts';
import { probeSandbox } from '../../../../tools/sandbox.ts';
import type { Tool, ToolContext } from '../../../../tools/tool.ts';
import { inputFor, toolContext } from '../../support.ts';

const sandbox = await probeSandbox({ kinds: ['group'] });
const tools = {
  read: createReadTool({ sandbox }),
  edit: createEditTool({ sandbox }),
  write: createWriteTool({ sandbox }),
};

export type FileTools = {
  read(path: string, more?: object): Promise<string>;
  edit(path: string, before: string, after: string): Promise<string>;
  write(path: string, content: string): Promise<string>;
};

export function fileTools(cwd: string, more: Partial<ToolContext> = {}): FileTools {
  const call = async (tool: Tool, input: object): Promise<string> => {
    const ran = await callTool(tool, inputFor(tool, input), toolContext(cwd, more));
    return ran.kind === 'output'
      ? ran.output.content
      : `${ran.kind}: ${ran.kind === 'failed' ? ran.text : ran.partial}`;
  };
  return {
    read: (path, options = {}) => call(tools.read, { path, ...options }),
    edit: (path, before, after) => call(tools.edit, { path, old_string: before, new_string: after }),
    write: (path, content) => call(tools.write, { path, content }),
  };
}
