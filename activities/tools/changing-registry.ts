// A list of tools that changes while the worker runs (L44): an MCP server may have come or gone. It is asked for between iterations;
// what it answers holds from then on, and a bad answer, or none in time, leaves the last good one.
import { createRegistry, type ToolRegistry } from './registry.ts';
import type { Tool } from './tool.ts';

export type ToolProvider = () => readonly Tool[] | Promise<readonly Tool[]>;

export type ChangingOptions = {
  /** What there is until the provider has answered. Throws as createRegistry does. */
  readonly initial: readonly Tool[];
  readonly warn: (message: string) => void;
  /** Milliseconds a refresh waits. A provider that takes longer is not waited for again until it has answered. */
  readonly boundMs?: number;
};

const BOUND_MS = 5_000;

/** `provider` answers the whole list, the built-in tools included. */
export function changingRegistry(
  provider: ToolProvider,
  { initial, warn, boundMs = BOUND_MS }: ChangingOptions,
): ToolRegistry & { refresh(): Promise<void> } {
  let current = { tools: initial, registry: createRegistry(initial) };
  let asking: { readonly answered: Promise<void>; late: boolean } | null = null;
  let warned = '';
  const complain = (message: string): void => {
    if (message !== warned) warn(`The list of tools stays as it was: ${message}`);
    warned = message;
  };
  const ask = async (): Promise<void> => {
    try {
      const tools = await Promise.resolve().then(provider);
      if (!sameList(tools, current.tools)) current = { tools: [...tools], registry: createRegistry(tools) };
      warned = '';
    } catch (error) {
      // The provider is foreign code, and its tools are: whatever is wrong with them, the session goes on without the change.
      complain(error instanceof Error ? error.message : String(error));
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
      if (waiting.late || (await within(boundMs, waiting.answered))) return;
      waiting.late = true;
      complain(`it was not there within ${boundMs} ms.`);
    },
  };
}

function sameList(some: readonly Tool[], others: readonly Tool[]): boolean {
  return some.length === others.length && some.every((tool, at) => tool === others[at]);
}

async function within(ms: number, answered: Promise<void>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => (timer = setTimeout(() => resolve(false), ms)));
  try {
    return await Promise.race([answered.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
