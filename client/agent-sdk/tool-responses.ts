// Builds the `tool_response` that PostToolUse hooks read: the fields that the SDK's own tools
// answer with, as far as the text of a result has them.
type Input = Readonly<Record<string, unknown>>;

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

const RESPONSES: Readonly<Record<string, (text: string, input: Input) => object>> = {
  Bash: (stdout) => ({ stdout, stderr: '', interrupted: false, isImage: false }),
  Read: (content, { file_path: filePath, offset = 1 }) => {
    const numLines = content.split('\n').length;
    return { type: 'text', file: { filePath, content, numLines, startLine: offset } };
  },
  Write: (text, { file_path: filePath, content }) => ({ filePath, content, text }),
  Edit: (text, { file_path: filePath, ...more }) => ({ ...more, filePath, text }),
  Glob: (text) => ({ filenames: linesOf(text), numFiles: linesOf(text).length }),
  Grep: (content) => ({ content, numLines: linesOf(content).length }),
  WebFetch: (result, { url }) => ({ url, result }),
};

/** Takes the SDK's names in `tool` and `input`. A server's tool gets a list of blocks. */
export function toolResponse(tool: string, input: Input, text: string): object {
  if (tool.startsWith('mcp__')) return [{ type: 'text', text }];
  return RESPONSES[tool]?.(text, input) ?? { content: text };
}
