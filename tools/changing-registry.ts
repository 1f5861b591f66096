// A list of tools that changes while the worker runs (L44): an MCP server may have come or gone. It
// is asked for between iterations; its answer holds from then on, and a bad answer, or none in
// time, leaves the last good one.
import type { Log } from '../system/log.ts';
import { awaitInTime } from '../system/async.ts';
import { reasonOf } from '../system/text.ts';
import type { Tool } from './tool.ts';
import { type ToolRegistry, createRegistry } from './registry.ts';

export type ToolProvider = () => readonly Tool[] | Promise<readonly Tool[]>;

type ChangingOptions = {
  /** The tools until the provider has answered. Throws as createRegistry does. */
  readonly initial: readonly Tool[];
  readonly log: Log;
  /**
   * Milliseconds that a refresh waits. A provider that takes longer is not waited for again until
   * it has answered.
   */
  readonly boundMs?: number;
};

const BOUND_MS = 5_000;

/** Creates the registry. `provider` answers the whole list, the built-in tools included. */
export function createChangingRegistry(
  provider: ToolProvider,
  { initial, log, boundMs = BOUND_MS }: ChangingOptions,
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
          boundMs,
        ))
      )
        return;
      waiting.late = true;
      complain(`it was not there within ${boundMs} ms.`);
    },
  };
}

function isSameList(some: readonly Tool[], others: readonly Tool[]): boolean {
  return some.length === others.length && some.every((tool, at) => tool === others[at]);
}
