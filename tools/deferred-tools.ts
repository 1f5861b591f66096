// Chooses the tools of a request: where the definitions of MCP servers' tools are many, those are
// left out that the model has neither had nor found, and it is told their names (L74).
import type { Tool } from '@anthropic-ai/sdk/resources/messages';
import type { SystemPart } from '../workflows/contract/activities.ts';
import { estimateTokens } from '../workflows/contract/loop.ts';
import { describeDeferred, isFindTools, isOfServer } from './find-tools.ts';

/** Tokens of definitions: about forty tools of two kilobytes. */
const MOST_TOKENS = 20_000;
const SHARE_OF_WINDOW = 0.1;

/** `true`: always; `false`: never; a number: where there are more tokens of definitions. */
export type DeferSetting = boolean | number;

/**
 * Returns the tokens of definitions of servers' tools above which they are deferred; undefined:
 * never.
 */
export function deferLimit(setting: DeferSetting | undefined, window: number): number | undefined {
  if (setting === undefined) return Math.min(MOST_TOKENS, Math.floor(window * SHARE_OF_WINDOW));
  if (typeof setting === 'number') return setting;
  return setting ? 0 : undefined;
}

/** `parts` belong to the system prompt. `deferred` are not among `tools`. */
type ChosenTools = {
  readonly tools: readonly Tool[];
  readonly parts: readonly SystemPart[];
  readonly deferred: readonly Tool[];
};

/**
 * Chooses among the offered tools. `known` has those that the model was sent before or has found:
 * they are sent as long as they are offered, so that nothing comes and goes with the limit.
 */
export function chooseTools(
  offered: readonly Tool[],
  limit: number | undefined,
  known: () => ReadonlySet<string> = () => new Set(),
): ChosenTools {
  const find = offered.find(isFindTools);
  const others = offered.filter((tool) => tool !== find);
  const ofServers = offered.filter(isOfServer);
  if (!find || limit === undefined || countTokens(ofServers) <= limit)
    return { tools: others, parts: [], deferred: [] };
  const had = known();
  const deferred = ofServers.filter(({ name }) => !had.has(name));
  if (deferred.length === 0 && !had.has(find.name)) return { tools: others, parts: [], deferred };
  const left = new Set(deferred);
  const text = describeDeferred(ofServers.map(({ name }) => name));
  const parts = [{ name: 'tools of MCP servers', text, foreign: true } as const];
  return { tools: offered.filter((tool) => !left.has(tool)), parts, deferred };
}

export function countTokens(tools: readonly Tool[]): number {
  return estimateTokens(tools.reduce((sum, tool) => sum + sizeOf(tool), 0));
}

/** Definitions never change, so each is measured once. */
const sizes = new WeakMap<Tool, number>();

function sizeOf(tool: Tool): number {
  const size = sizes.get(tool) ?? JSON.stringify(tool).length;
  sizes.set(tool, size);
  return size;
}
