// Names and inputs of the tools that the SDK's workers run in a sandbox (G51). Inputs are checked
// there, so a worker may accept more.
import type { BetaManagedAgentsAgentToolConfig } from '@anthropic-ai/sdk/resources/beta/agents';
import type { OutsideTool } from '../../client/faces/types.ts';

type SandboxTool = Exclude<BetaManagedAgentsAgentToolConfig['name'], 'web_fetch' | 'web_search'>;
type Fields = Readonly<Record<string, object>>;

const file_path = { type: 'string', description: 'The file, relative to the working directory of the sandbox' };

const forms: Readonly<
  Record<SandboxTool, readonly [description: string, required: readonly string[], fields: Fields]>
> = {
  bash: [
    'Runs a bash command in the sandbox, and returns its output. The shell is kept between calls, with its folder and variables. A command has two minutes unless timeout_ms says less.',
    [],
    {
      command: { type: 'string', description: 'The command' },
      restart: { type: 'boolean', description: 'Begin with a new shell' },
      timeout_ms: { type: 'integer', description: 'Milliseconds after which it is ended' },
    },
  ],
  read: [
    'Reads a text file of the sandbox, of at most 256 KiB.',
    ['file_path'],
    {
      file_path,
      view_range: {
        type: 'array',
        items: { type: 'integer' },
        description: 'The first and the last line to show, from 1',
      },
    },
  ],
  write: [
    'Creates or replaces a file of the sandbox, with the folders it needs.',
    ['file_path', 'content'],
    { file_path, content: { type: 'string', description: 'All of its new content' } },
  ],
  edit: [
    'Replaces text in a file of the sandbox. old_string must be there once, unless replace_all is true.',
    ['file_path', 'old_string', 'new_string'],
    {
      file_path,
      old_string: { type: 'string', description: 'The text to replace' },
      new_string: { type: 'string', description: 'What takes its place' },
      replace_all: { type: 'boolean', description: 'Replace it wherever it is' },
    },
  ],
  glob: [
    'Lists files of the sandbox by a glob pattern, those changed last first, at most 200.',
    ['pattern'],
    {
      pattern: { type: 'string', description: 'Such as src/**/*.ts' },
      path: { type: 'string', description: 'The folder to look in; absent: the working directory' },
    },
  ],
  grep: [
    'Searches files of the sandbox for a regular expression.',
    ['pattern'],
    {
      pattern: { type: 'string', description: 'The regular expression' },
      path: { type: 'string', description: 'The file or folder to search; absent: the working directory' },
    },
  ],
};

/** Returns the tools that a sandbox runs, of those that an agent has. */
export const sandboxTools = (names: readonly string[]): readonly OutsideTool[] =>
  Object.entries(forms)
    .filter(([name]) => names.includes(name))
    .map(([name, [description, required, properties]]) => {
      const input_schema = { type: 'object', properties, ...(required.length > 0 && { required }) };
      return { by: 'sandbox', name, description, input_schema };
    });
