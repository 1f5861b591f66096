// A loop just large enough to run the demo with the real tools, whose answers it must be able to
// read.
import { randomUUID } from 'node:crypto';
import type { ContentBlock, MessageParam, ToolResultBlockParam } from '@anthropic-ai/sdk/resources/messages';
import { createGlobTool } from '../../tools/builtin/glob.ts';
import { createGrepTool } from '../../tools/builtin/grep.ts';
import type { BuiltinOptions } from '../../tools/builtin/files/options.ts';
import { createReadTool } from '../../tools/builtin/read.ts';
import { createWriteTool } from '../../tools/builtin/write.ts';
import { probeSandbox } from '../../tools/sandbox.ts';
import type { Tool, ToolContext } from '../../tools/tool.ts';
import type { ScriptedModel } from '../../scripted-model/index.ts';
import { inputFor } from '../tools/support.ts';
import { sdk } from './support.ts';

export type ToolInput = Readonly<Record<string, string>>;
export type Tools = Readonly<Record<string, (input: ToolInput) => Promise<string>>>;

const sandbox = await probeSandbox();

/** The real tools, in `cwd`. */
export function demoTools(cwd: string): Tools {
  const options: BuiltinOptions = { sandbox };
  const tools = [createGlobTool(options), createGrepTool(options), createReadTool(options), createWriteTool(options)];
  return Object.fromEntries(tools.map((tool) => [tool.name, (input: ToolInput) => callTool(tool, input, cwd)]));
}

async function callTool(tool: Tool, input: ToolInput, cwd: string): Promise<string> {
  const context: ToolContext = {
    cwd,
    dir: cwd,
    signal: new AbortController().signal,
    idempotencyKey: randomUUID(),
    queryId: 'demo',
    depth: 0,
    progress: () => undefined,
    fence: async () => undefined,
    readStored: () => Promise.resolve(null),
    spawned: () => Promise.resolve(),
  };
  const { content, isError } = await tool.call(inputFor(tool, input), context);
  if (isError === true) throw new Error(content);
  return content;
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
