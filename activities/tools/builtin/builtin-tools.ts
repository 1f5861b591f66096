// The tools every run has: files and a shell in the workspace.
import type { Tool } from '../tool.ts';
import { bashTool } from './bash.ts';
import { editTool } from './edit.ts';
import { globTool } from './glob.ts';
import { grepTool } from './grep.ts';
import type { BuiltinOptions } from './options.ts';
import { readTool } from './read.ts';
import { writeTool } from './write.ts';

export function builtinTools(options: BuiltinOptions): readonly Tool[] {
  return [
    bashTool(options),
    editTool(options),
    globTool(options),
    grepTool(options),
    readTool(options),
    writeTool(options),
  ];
}
