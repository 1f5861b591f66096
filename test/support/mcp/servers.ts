// MCP servers for tests: the odd one, and real ones of the official project.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { openServers } from '../../../tools/mcp/open-servers.ts';
import type { McpBounds, McpServers, StdioServer } from '../../../tools/mcp/servers.ts';
import { createRegistry } from '../../../tools/registry.ts';
import { probeSandbox, type Sandbox } from '../../../tools/sandbox.ts';
import type { Network } from '../../../system/network.ts';
import type { Tool, ToolContext, ToolOutput } from '../../../tools/tool.ts';
import type { Options } from './odd-server.mjs';

const program = fileURLToPath(new URL('./odd-server.mjs', import.meta.url));

export function oddServer(options: Options = {}, more: Partial<StdioServer> = {}): StdioServer {
  return { command: process.execPath, args: [program, JSON.stringify(options)], ...more };
}

/** A server of the official SDK with so many tools, each defined in so many characters. */
export function manyToolsServer(count: number, characters: number): StdioServer {
  const many = fileURLToPath(new URL('./many-tools.mjs', import.meta.url));
  return { command: process.execPath, args: [many, String(count), String(characters)] };
}

/** A server of a package, by the program that its `bin` names. */
export function packagedServer(name: string, ...args: string[]): StdioServer {
  const manifest = join(process.cwd(), 'node_modules/@modelcontextprotocol', name, 'package.json');
  const { bin } = createRequire(import.meta.url)(manifest) as { readonly bin: Readonly<Record<string, string>> };
  return { command: process.execPath, args: [join(dirname(manifest), Object.values(bin)[0] ?? ''), ...args] };
}

export type Opening = {
  readonly bounds?: Partial<McpBounds>;
  readonly sandbox?: Pick<Sandbox, 'kind' | 'hold' | 'programs' | 'refusal'>;
  readonly own?: readonly Tool[];
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly dataDir?: string;
  readonly network?: Pick<Network, 'fetch'>;
};

/** Back-off is short: a test that waits for its end looks at its state. */
export async function openTestServers(
  servers: McpServers,
  { bounds, sandbox, own = [], env, dataDir, network }: Opening = {},
) {
  const warnings: string[] = [];
  const opened = openServers(servers, createRegistry(own), {
    env: env ?? { PATH: process.env['PATH'], HOME: process.env['HOME'] },
    sandbox: sandbox ?? (await probeSandbox()),
    log: (_, line) => void warnings.push(line),
    bounds: { backoffMs: 1, mostBackoffMs: 20, ...bounds },
    ...(dataDir !== undefined && { dataDir }),
    network,
  });
  onTestFinished(() => opened.servers.close());
  const { registry } = opened;
  const names = (): string[] => registry.definitions().map(({ name }) => name);
  const call = async (name: string, input: object = {}, context: Partial<ToolContext> = {}): Promise<ToolOutput> => {
    const tool = registry.get(name);
    if (tool === undefined) throw new Error(`there is no ${name}`);
    return await tool.call(input, { ...anyContext(), ...context });
  };
  return { ...opened, warnings, names, call };
}

export function anyContext(): ToolContext {
  return {
    cwd: '/',
    dir: '/',
    signal: new AbortController().signal,
    idempotencyKey: 'key-1',
    queryId: 'q.1',
    depth: 0,
    progress: () => undefined,
    readStored: () => Promise.resolve(null),
    fence: () => Promise.resolve(),
    spawned: () => Promise.resolve(),
  };
}

type Effect = {
  readonly started?: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly call?: string;
  readonly key?: string;
  readonly cancelled?: number;
  readonly answered?: { readonly message?: string; readonly action?: string };
};

/** What the odd server noted, in order. */
export function effectsIn(file: string): readonly Effect[] {
  try {
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as Effect);
  } catch {
    return [];
  }
}
