// Tells tools that a run has ended, so that they release what they hold for it (L48). Their work
// after that changes nothing in the run.
import type { RunConfig } from '../../store/configuration.ts';
import { runWithin } from '../../system/async.ts';
import { clip, reasonOf } from '../../system/text.ts';
import { isListed } from '../../tools/listed.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import type { ClosedRun } from '../../tools/tool.ts';
import type { CloseFailure } from './call-port.ts';

/** Milliseconds. The end of the run waits for the tools this long. */
const CLOSE_MS = 5_000;

/** Closes the tools that the run was offered, all at once. Never throws. */
export async function closeTools(
  registry: ToolRegistry,
  { tools }: Pick<RunConfig, 'tools'>,
  run: ClosedRun,
  ms = CLOSE_MS,
): Promise<readonly CloseFailure[]> {
  const offered = registry.definitions().filter(({ name }) => isListed(tools, name));
  const closing = offered.map(async ({ name }): Promise<readonly CloseFailure[]> => {
    const tool = registry.get(name);
    if (tool?.close === undefined) return [];
    try {
      await runWithin(ms, run.signal, (signal) => tool.close?.({ ...run, signal }));
      return [];
    } catch (error) {
      return [{ tool: name, detail: clip(reasonOf(error)) }];
    }
  });
  return (await Promise.all(closing)).flat();
}
