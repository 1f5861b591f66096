// The types of `perdure/agent-sdk/sdk-tools`: what calls of the tools that are here have as their
// input, in hooks, `canUseTool` and messages, and what they answer with, as far as it is known
// here.
type TodoItem = { content: string; status: 'pending' | 'in_progress' | 'completed'; activeForm: string };
type PatchHunk = { oldStart: number; oldLines: number; newStart: number; newLines: number; lines: string[] };
type Question = {
  question: string;
  header: string;
  options: { label: string; description: string; preview?: string }[];
  multiSelect: boolean;
};

export interface AgentInput {
  description: string;
  prompt: string;
  subagent_type?: string;
  model?: 'sonnet' | 'opus' | 'haiku' | 'fable';
  effort?: 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  run_in_background?: boolean;
  name?: string;
  isolation?: 'worktree' | 'remote';
}

export type AgentOutput =
  | {
      status: 'completed';
      agentId: string;
      agentType?: string;
      prompt: string;
      content: { type: 'text'; text: string }[];
      totalTokens?: number;
      totalDurationMs?: number;
    }
  | {
      status: 'async_launched';
      isAsync?: true;
      agentId: string;
      description: string;
      prompt: string;
      outputFile: string;
    };

export interface BashInput {
  command: string;
  timeout?: number;
  description?: string;
  run_in_background?: boolean;
  dangerouslyDisableSandbox?: boolean;
}

export interface BashOutput {
  stdout: string;
  stderr: string;
  interrupted: boolean;
  isImage?: boolean;
  backgroundTaskId?: string;
}

export interface FileReadInput {
  file_path: string;
  offset?: number;
  limit?: number;
  pages?: string;
}

export type FileReadOutput = {
  type: 'text';
  file: { filePath: string; content: string; numLines: number; startLine: number; totalLines?: number };
};

export interface FileWriteInput {
  file_path: string;
  content: string;
}

export interface FileWriteOutput {
  type: 'create' | 'update';
  filePath: string;
  content: string;
  structuredPatch: PatchHunk[];
  originalFile: string | null;
  userModified?: boolean;
}

export interface FileEditInput {
  file_path: string;
  old_string: string;
  new_string: string;
  replace_all?: boolean;
}

export interface FileEditOutput {
  filePath: string;
  oldString: string;
  newString: string;
  originalFile: string | null;
  structuredPatch: PatchHunk[];
  userModified: boolean;
  replaceAll: boolean;
}

export interface GlobInput {
  pattern: string;
  path?: string;
}

export interface GlobOutput {
  durationMs: number;
  numFiles: number;
  filenames: string[];
  truncated: boolean;
}

export interface GrepInput {
  pattern: string;
  path?: string;
  glob?: string;
  output_mode?: 'content' | 'files_with_matches' | 'count';
  '-B'?: number;
  '-A'?: number;
  '-C'?: number;
  context?: number;
  '-n'?: boolean;
  '-i'?: boolean;
  type?: string;
  head_limit?: number;
  offset?: number;
  multiline?: boolean;
}

export interface GrepOutput {
  mode?: 'content' | 'files_with_matches' | 'count';
  numFiles: number;
  filenames: string[];
  content?: string;
  numLines?: number;
  numMatches?: number;
}

export interface TaskStopInput {
  task_id?: string;
  shell_id?: string;
}

export interface TaskStopOutput {
  message: string;
  task_id: string;
  task_type: string;
  command?: string;
}

export interface TodoWriteInput {
  todos: TodoItem[];
}

export interface TodoWriteOutput {
  oldTodos: TodoItem[];
  newTodos: TodoItem[];
}

export interface WebFetchInput {
  url: string;
  prompt: string;
}

export interface WebFetchOutput {
  bytes: number;
  code: number;
  codeText: string;
  result: string;
  durationMs: number;
  url: string;
}

export interface WebSearchInput {
  query: string;
  allowed_domains?: string[];
  blocked_domains?: string[];
}

export interface AskUserQuestionInput {
  questions: Question[];
  answers?: Record<string, string>;
}

export interface McpInput {
  [k: string]: unknown;
}

export type McpOutput = string | { type: string; [k: string]: unknown }[] | { [k: string]: unknown };

export type ToolInputSchemas =
  | AgentInput
  | BashInput
  | FileReadInput
  | FileWriteInput
  | FileEditInput
  | GlobInput
  | GrepInput
  | TaskStopInput
  | TodoWriteInput
  | WebFetchInput
  | WebSearchInput
  | AskUserQuestionInput
  | McpInput;

export type ToolOutputSchemas =
  | AgentOutput
  | BashOutput
  | FileReadOutput
  | FileWriteOutput
  | FileEditOutput
  | GlobOutput
  | GrepOutput
  | TaskStopOutput
  | TodoWriteOutput
  | WebFetchOutput
  | McpOutput;
