// The tools of a run by name, and their definitions as the API wants them.
// Lists of tools by name, where `mcp__server` stands for all the tools of that MCP server, which
// come and go (L74).
import { SERVER_PREFIX } from '../store/transcript/found-tools.ts';
import { awaitInTime } from '../system/async.ts';
import type { Log } from '../system/log.ts';
import { inputJsonSchema } from '../system/schema/input-schema.ts';
import { reasonOf, replaceLoneSurrogates } from '../system/text.ts';
import type { RunServer } from '../workflows/contract/mcp-servers.ts';
import type { RunMount } from '../workflows/contract/mounts.ts';
import type { RosterAgent } from '../workflows/contract/roster.ts';
import type { Toolset } from '../workflows/contract/run-options.ts';
import type { OutsideTool } from '../workflows/contract/waits.ts';
import type { Tool } from './tool.ts';

export type ToolDefinition = {
  readonly name: string;
  readonly description: string;
  readonly input_schema: { readonly type: 'object'; readonly [key: string]: unknown };
};

export type ToolRegistry = {
  get(name: string): Tool | undefined;
  /**
   * Ordered by name whatever the order of registration, so that the prompt cache stays valid (L22).
   */
  definitions(): readonly ToolDefinition[];
  /** Asks for a list that changes (L44). Never throws. */
  refresh?(): Promise<void>;
  /** Waits until the server of this tool has sent its first list. Never throws. */
  arrive?(name: string, signal: AbortSignal): Promise<void>;
  /** Returns a sentence for the model, where a tool is missing because its server is. */
  whyMissing?(name: string): string | undefined;
  /** Tells whether a run that lacks this tool must end (L34). */
  endsRun?(name: string): boolean;
};

/** What a run says of the forms of its tools (G51), and those that it brings (G53, G54). */
export type ToolForms = {
  readonly toolset?: Toolset | undefined;
  readonly offline?: boolean | undefined;
  readonly outsideTools?: readonly OutsideTool[] | undefined;
  readonly mcpServers?: readonly RunServer[] | undefined;
  readonly roster?: readonly RosterAgent[] | undefined;
  /** Folders below /mnt, and the workspace that they lie beside. */
  readonly mounts?: readonly RunMount[] | undefined;
  readonly cwd?: string | undefined;
};

/** Returns the registry of a run. */
export type RegistryOfRun = (run: ToolForms) => ToolRegistry;

/** The MCP servers of a worker. */
export type ToolServers = {
  readonly names: readonly string[];
  /** Returns the instructions of servers that have a tool in the list. */
  instructions(tools: readonly string[] | undefined): readonly string[];
  /** Returns a sentence for each server that has left out tools. */
  leftOut(): readonly string[];
  /** Waits for new lists, in bounds. */
  refresh(): Promise<void>;
  close(): Promise<void>;
};

/** The names of tools that the Messages API accepts. */
export const VALID_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/**
 * Creates a registry. Throws an Error for a name that the API would refuse, a name given twice, a
 * schema that is not an object, and a recovery that the tool does not have.
 */
export function createRegistry(tools: readonly Tool[]): ToolRegistry {
  const byName = new Map<string, Tool>();
  for (const tool of tools) {
    if (!VALID_NAME.test(tool.name)) {
      throw new Error(`Tool name ${JSON.stringify(tool.name)} is not valid: use 1 to 64 letters, digits, "_" or "-".`);
    }
    if (byName.has(tool.name)) throw new Error(`Two tools are named "${tool.name}": rename or remove one.`);
    if (tool.recovery === 'verify' && tool.verify === undefined) {
      throw new Error(
        `Tool "${tool.name}" has recovery "verify" and no verify function: give it one, or another recovery.`,
      );
    }
    byName.set(tool.name, tool);
  }
  const definitions = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1)).map(buildDefinition);
  return { get: (name) => byName.get(name), definitions: () => definitions };
}

/**
 * Makes a registry of another's, with other tools: `get` finds them, and `change` makes the list of
 * their definitions. It stays the same list as long as the other's does (L22).
 */
export function deriveRegistry(
  base: ToolRegistry,
  get: ToolRegistry['get'],
  change: (all: readonly ToolDefinition[]) => readonly ToolDefinition[],
): ToolRegistry {
  let known: { readonly of: readonly ToolDefinition[]; readonly all: readonly ToolDefinition[] } | null = null;
  return {
    ...base,
    get,
    definitions() {
      const of = base.definitions();
      if (known?.of !== of) known = { of, all: change(of) };
      return known.all;
    },
  };
}

/**
 * Builds a definition. Throws an Error for a schema that JSON cannot say, or that is not an object.
 */
export function buildDefinition(
  tool: Pick<Tool, 'name' | 'description' | 'inputSchema' | 'inputJsonSchema'>,
): ToolDefinition {
  const { $schema: _, ...schema } = inputJsonSchema(tool);
  if (schema['type'] !== 'object')
    throw new Error(`Tool "${tool.name}" must take an object: its schema is another type.`);
  // A server of tools may say anything, and one lone surrogate makes every request unreadable
  // (L58).
  return replaceLoneSurrogates({
    name: tool.name,
    description: tool.description,
    input_schema: { ...schema, type: 'object' },
  });
}

// A list of tools that changes while the worker runs (L44): an MCP server may have come or gone. It
// is asked for between iterations; its answer holds from then on, and a bad answer, or none in
// time, leaves the last good one.
export type ToolProvider = () => readonly Tool[] | Promise<readonly Tool[]>;

type ChangingOptions = {
  /** The tools until the provider has answered. Throws as createRegistry does. */
  readonly initial: readonly Tool[];
  readonly log: Log;
};

/**
 * Milliseconds that a refresh waits. A provider that takes longer is not waited for again until it
 * has answered.
 */
const BOUND_MS = 5_000;

/** Creates the registry. `provider` answers the whole list, the built-in tools included. */
export function createChangingRegistry(
  provider: ToolProvider,
  { initial, log }: ChangingOptions,
): ToolRegistry & { refresh(): Promise<void> } {
  let current = { tools: initial, registry: createRegistry(initial) };
  let asking: { readonly answered: Promise<void>; late: boolean } | null = null;
  let warned = '';
  const complain = (message: string): void => {
    if (message !== warned) log('warn', `the list of tools stays as it was: ${message}`);
    warned = message;
  };
  const ask = async (): Promise<void> => {
    try {
      const tools = await Promise.resolve().then(provider);
      if (!isSameList(tools, current.tools)) current = { tools: [...tools], registry: createRegistry(tools) };
      warned = '';
    } catch (error) {
      // The provider is foreign code, and its tools are: whatever is wrong with them, the session
      // goes on without the change.
      complain(reasonOf(error));
    } finally {
      asking = null;
    }
  };
  return {
    get: (name) => current.registry.get(name),
    definitions: () => current.registry.definitions(),
    async refresh() {
      asking ??= { answered: ask(), late: false };
      const waiting = asking;
      if (
        waiting.late ||
        (await awaitInTime(
          waiting.answered.then(() => true),
          false,
          BOUND_MS,
        ))
      )
        return;
      waiting.late = true;
      complain(`it was not there within ${BOUND_MS} ms.`);
    },
  };
}

function isSameList(some: readonly Tool[], others: readonly Tool[]): boolean {
  return some.length === others.length && some.every((tool, at) => tool === others[at]);
}

export { SERVER_PREFIX } from '../store/transcript/found-tools.ts';

/** The tool that lists and reads what servers have in addition to tools. */
export const RESOURCES = 'mcp_resources';

/** The tool that finds tools of servers, where requests leave their definitions out. */
export const FIND_TOOLS = 'find_tools';

/** Returns the server whose tool this would be; undefined for any other name. */
export function findServerName(name: string): string | undefined {
  return /^mcp__((?:(?!__).)+)__./s.exec(name)?.[1];
}

/**
 * Tells whether a name in a list of tools, or in a rule, means the tool: it is its own, or its
 * server's.
 */
export function isListedAs(listed: string, tool: string): boolean {
  if (listed === tool) return true;
  const server = findServerName(tool);
  return server !== undefined && (listed === `${SERVER_PREFIX}${server}` || listed === `${SERVER_PREFIX}${server}__*`);
}

/**
 * Tells whether a list has a tool; an absent list has all. The tools for work in the background
 * come with the one that begins it (L71, L84), and the one that finds tools of servers with these.
 */
export function isListed(list: readonly string[] | undefined, tool: string): boolean {
  const wanted = /^(agent|bash)_(?:output|send|stop)$/.exec(tool)?.[1] ?? tool;
  if (tool === FIND_TOOLS && list?.some((name) => name.startsWith(SERVER_PREFIX))) return true;
  return list === undefined || list.some((name) => isListedAs(name, wanted));
}
