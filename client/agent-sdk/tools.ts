// Implements `tool()` and `createSdkMcpServer()`, and turns the servers of a query into tools and
// servers of a worker's configuration.
import { randomUUID } from 'node:crypto';
import { present } from '../faces/basics.ts';
import { ClientProblem } from '../faces/start.ts';
import { callResult, toToolOutput, SERVER_PREFIX, defineTool, ToolFailure } from '../faces/tools.ts';
import type { McpServer, McpServers, ServerQuestion, Tool, ToolContext, PermissionRules } from '../faces/types.ts';
import { TimedOut, runWithin } from '../../system/async.ts';
import { readInputSchema } from './input-schemas.ts';
import { ConnectedInstance, connectInstances, ProgramServer } from './instances.ts';
import { renameRule, serverNames, toolNames } from './server-names.ts';
import type {
  AnyZodRawShape,
  CallToolResult,
  InferShape,
  McpSdkServerConfigWithInstance,
  McpServerConfig,
  McpServerInstance,
  McpServerStatus,
  McpServerToolPolicy,
  ProgramMcpServer,
  SdkMcpToolDefinition,
  ToolAnnotations,
  ToolExtra,
} from './shapes/mcp.ts';
import type { Options } from './shapes/options.ts';
import type { OnElicitation } from './shapes/facts.ts';

/** Reports servers outside the program as pending: they are connected while the session opens. */
export function serverStatuses(servers: Readonly<Record<string, McpServerConfig>>): McpServerStatus[] {
  return Object.entries(servers).map(([name, server]) => ({
    name,
    status: isOfProgram(server) ? ('connected' as const) : ('pending' as const),
  }));
}

function isOfProgram(server: McpServerConfig): server is McpSdkServerConfigWithInstance {
  return server.type === 'sdk';
}

/** Defines a tool of the program. Give `createSdkMcpServer()` a list of them. */
export function tool<Shape extends AnyZodRawShape>(
  name: string,
  description: string,
  inputSchema: Shape,
  handler: (args: InferShape<Shape>, extra: ToolExtra) => Promise<CallToolResult>,
  extras: { annotations?: ToolAnnotations; searchHint?: string; alwaysLoad?: boolean } = {},
): SdkMcpToolDefinition<Shape> {
  const { annotations } = extras;
  return { name, description, inputSchema, handler, ...present({ annotations }) };
}

/**
 * Makes a server whose tools run in this process. The model, rules and callbacks name a tool
 * `mcp__NAME__TOOL`.
 */
export function createSdkMcpServer(server: {
  name: string;
  version?: string;
  instructions?: string;
  // oxlint-disable-next-line typescript/no-explicit-any
  tools?: SdkMcpToolDefinition<any>[];
  alwaysLoad?: boolean;
  timeout?: number;
}): McpSdkServerConfigWithInstance & { instance: ProgramMcpServer } {
  const { name, version = '1.0.0', tools = [], timeout, instructions } = server;
  const instance = new ProgramServer({ name, version }, tools, instructions);
  return { type: 'sdk', name, instance, ...present({ timeout }) };
}

/**
 * Connects the servers that the program made itself, and lists their tools. Throws ClientProblem
 * `refused`.
 */
export async function withInstances<Given extends Pick<Options, 'mcpServers'>>(
  options: Given,
  say: (line: string) => void,
): Promise<Given> {
  const { mcpServers } = options;
  if (mcpServers === undefined) return options;
  const isOwn = (instance: McpServerInstance): boolean => instance instanceof ProgramServer;
  return { ...options, mcpServers: await connectInstances(mcpServers, isOwn, say) };
}

export function programTools(servers: Readonly<Record<string, McpServerConfig>>): readonly Tool[] {
  const names = serverNames(Object.keys(servers));
  return Object.entries(servers).flatMap(([original, server]) =>
    isOfProgram(server) ? toolsOfServer(names.get(original) ?? original, server) : [],
  );
}

function toolsOfServer(server: string, { instance, timeout }: McpSdkServerConfigWithInstance): readonly Tool[] {
  const tools = instance instanceof ProgramServer ? instance.tools.map(ownTool) : instanceTools(instance);
  const names = toolNames(
    server,
    tools.map(({ name }) => name),
  );
  return tools.map((each, at) => workerTool({ ...each, name: names[at] ?? each.name }, timeout));
}

/** Returns the permission rules that the tool policies of the servers ask for. */
export function policyRules(servers: Readonly<Record<string, McpServerConfig>>): PermissionRules {
  const names = serverNames(Object.keys(servers));
  const rules = { allow: [] as string[], deny: [] as string[], ask: [] as string[] };
  for (const [original, server] of Object.entries(servers)) {
    for (const policy of ('tools' in server && server.tools) || []) {
      const rule = renameRule(
        `${SERVER_PREFIX}${original}__${policy.name}`,
        new Map([[original, names.get(original) ?? original]]),
      );
      for (const list of ruleListsOf(policy)) rules[list].push(rule);
    }
  }
  return rules;
}

function ruleListsOf({
  permission_policy,
  org_max_permission,
}: McpServerToolPolicy): readonly (keyof PermissionRules)[] {
  const lists = { always_allow: 'allow', always_ask: 'ask', always_deny: 'deny' } as const;
  const most = { allow: [], ask: ['ask'], blocked: ['deny'] } as const;
  return [
    ...(permission_policy ? [lists[permission_policy]] : []),
    ...(org_max_permission ? most[org_max_permission] : []),
  ];
}

/** Returns the servers outside the program as a configuration has them. */
export function outsideServers(
  servers: Readonly<Record<string, McpServerConfig>>,
  onElicitation?: OnElicitation,
): McpServers {
  const asks = onElicitation && {
    answers: (question: ServerQuestion, { signal }: { readonly signal: AbortSignal }) =>
      onElicitation(question, { signal, requestId: randomUUID() }),
  };
  const names = serverNames(Object.keys(servers));
  const others = Object.entries(servers).flatMap(([original, server]): [string, McpServer][] => {
    if (isOfProgram(server)) return [];
    // All tools are loaded at the start here, and `policyRules` has the policies.
    const { timeout, alwaysLoad: _, ...own } = server;
    if ('tools' in own) delete own.tools;
    const place = 'command' in own ? { cwd: process.cwd(), ...own } : own;
    return [[names.get(original) ?? original, { ...place, ...present({ timeoutMs: timeout }), ...asks }]];
  });
  return Object.fromEntries(others);
}

type ToolDescription = Pick<Tool, 'name' | 'description' | 'inputSchema'> &
  Pick<Partial<Tool>, 'inputJsonSchema'> & {
    readonly readOnly: boolean;
    readonly idempotent: boolean;
    readonly run: (input: unknown, extra: ToolExtra) => Promise<unknown>;
  };

function ownTool({ name, description, inputSchema, handler, annotations = {} }: SdkMcpToolDefinition): ToolDescription {
  const { readOnlyHint: readOnly = false, idempotentHint: idempotent = readOnly } = annotations;
  const schemas = readInputSchema(name, inputSchema);
  return { name, description, ...schemas, readOnly, idempotent, run: (input, extra) => handler(input as never, extra) };
}

/** Throws ClientProblem `refused` for a server that is not connected. */
function instanceTools(instance: McpServerInstance): readonly ToolDescription[] {
  if (!(instance instanceof ConnectedInstance))
    throw new ClientProblem('refused', 'a server of query() is not connected');
  return instance.tools.map((listed) => ({
    ...listed,
    idempotent: listed.idempotent || listed.readOnly,
    run: (input, extra) => instance.call(listed.name, input, extra),
  }));
}

function workerTool({ readOnly, idempotent, run, ...described }: ToolDescription, timeout: number | undefined): Tool {
  return defineTool({
    ...described,
    risk: readOnly ? 'read' : 'external',
    recovery: idempotent ? 'rerun' : 'report',
    call: async (input, { signal, idempotencyKey }: ToolContext) => {
      const runTool = (until: AbortSignal) => run(input, { signal: until, idempotencyKey });
      const answer =
        timeout === undefined ? runTool(signal) : runWithin(timeout, signal, runTool).catch(rethrowTimeout);
      return toToolOutput(callResult.parse(await answer));
    },
  });
}

function rethrowTimeout(error: unknown): never {
  if (!(error instanceof TimedOut)) throw error;
  throw new ToolFailure(`It ${error.message}, and may have taken effect wholly, partly or not at all.`, {
    cause: error,
  });
}
