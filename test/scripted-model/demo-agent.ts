// A loop and tools just large enough to run the demo: what they answer has the format of the real tools.
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { ContentBlock, MessageParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import type { ScriptedModel } from '../../worker/scripted-model/index.ts';
import { sdk } from './support.ts';

export type ToolInput = Readonly<Record<string, string>>;
export type Tools = Readonly<Record<string, (input: ToolInput) => Promise<string>>>;

const SHOWN = 1_000;

export function demoTools(cwd: string): Tools {
  return {
    glob: async ({ pattern = '' }) => {
      const paths = await filesUnder(cwd, cwd, pattern);
      const cut = paths.length > SHOWN ? `, first ${SHOWN} shown` : '';
      return paths.length === 0
        ? '(no files match)'
        : [...paths.slice(0, SHOWN), `(${paths.length} files${cut})`].join('\n');
    },
    grep: async ({ path = '.', glob = '' }) => {
      const paths = await filesUnder(cwd, join(cwd, path), glob);
      const counts = await Promise.all(paths.map(async (file) => `${file}:${await lines(join(cwd, file))}`));
      const total = counts.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(':') + 1)), 0);
      return [...counts.slice(0, SHOWN), `(${total} matches in ${paths.length} files)`].join('\n');
    },
    write: async ({ path = '', content = '' }) => {
      await writeFile(join(cwd, path), content);
      return `Wrote ${path}.`;
    },
    read: ({ path = '' }) => readFile(join(cwd, path), 'utf8'),
  };
}

async function filesUnder(cwd: string, folder: string, pattern: string): Promise<readonly string[]> {
  const endings = /\{(.*)\}$/.exec(pattern)?.[1]?.split(',') ?? [];
  const entries = (await stat(folder)).isDirectory()
    ? await readdir(folder, { recursive: true, withFileTypes: true })
    : [];
  const files = entries.filter((entry) => entry.isFile() && endings.some((end) => entry.name.endsWith(`.${end}`)));
  return files.map((entry) => relative(cwd, join(entry.parentPath, entry.name))).sort();
}

async function lines(file: string): Promise<number> {
  const text = await readFile(file, 'utf8');
  return text.split('\n').length - (text.endsWith('\n') || text === '' ? 1 : 0);
}

export type DemoRun = { readonly answer: string; readonly calls: readonly { name: string; input: ToolInput }[] };

/** Runs a prompt to the end, after `history` when a session goes on. */
export async function runAgent(
  server: ScriptedModel,
  tools: Tools,
  prompt: string,
  history: MessageParam[] = [],
): Promise<DemoRun> {
  const messages: MessageParam[] = [...history, { role: 'user', content: prompt }];
  const calls: { name: string; input: ToolInput }[] = [];
  for (;;) {
    const definitions = Object.keys(tools).map((name) => ({ name, input_schema: { type: 'object' as const } }));
    const request = { model: 'claude-demo', max_tokens: 8_000, tools: definitions, messages };
    const { content } = await sdk(server).messages.stream(request).finalMessage();
    const uses = content.filter((block) => block.type === 'tool_use');
    if (uses.length === 0) return { answer: textOf(content), calls };
    calls.push(...uses.map(({ name, input }) => ({ name, input: input as ToolInput })));
    const results = uses.map(({ id, name, input }) => outcome(tools, id, name, input as ToolInput));
    messages.push({ role: 'assistant', content }, { role: 'user', content: await Promise.all(results) });
  }
}

async function outcome(tools: Tools, id: string, name: string, input: ToolInput): Promise<ToolResultBlockParam> {
  const base = { type: 'tool_result', tool_use_id: id } as const;
  try {
    return { ...base, content: (await tools[name]?.(input)) ?? 'no such tool' };
  } catch (error) {
    return { ...base, content: String(error), is_error: true };
  }
}

function textOf(content: readonly ContentBlock[]): string {
  return content.flatMap((block) => (block.type === 'text' ? [block.text] : [])).join('');
}
