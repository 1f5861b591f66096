// The agents that a run brings with it (G68). Each works with what its own entry says, below the
// rules of the worker: not with what the run that starts it may do.
import { findRepeated, jsonSizeProblem } from './list-problems.ts';
import type { Effort } from './loop.ts';
import type { PermissionRules } from './permission-rules.ts';
import { isOutsideTool, type OutsideTool } from './waits.ts';

/** `name`: the type that calls of `agent` name. The rest are options of its runs. */
export type RosterAgent = {
  readonly name: string;
  readonly description: string;
  readonly model: string;
  readonly effort?: Effort;
  readonly systemPrompt?: string;
  readonly tools: readonly string[];
  readonly permissions: PermissionRules;
  readonly outsideTools?: readonly OutsideTool[];
};

export const MOST_ROSTER = 20;
const LONGEST_NAME = 256;
const LONGEST_DESCRIPTION = 2_048;

/** Says in a sentence what is wrong with the list; options of its agents are checked apart. */
export function rosterShapeProblem(roster: unknown, most: number): string | undefined {
  if (!Array.isArray(roster) || roster.length === 0 || !roster.every(isRosterAgent))
    return 'the roster is no list of { name, description, model, tools, permissions }';
  if (roster.length > MOST_ROSTER) return `the roster has ${roster.length} agents: give at most ${MOST_ROSTER}`;
  const twice = findRepeated(roster.map(({ name }) => name));
  if (twice !== undefined) return `two agents of the roster are named ${JSON.stringify(twice)}`;
  return jsonSizeProblem('the roster has', roster, most);
}

/** Options may come from any Temporal client. */
function isRosterAgent(value: unknown): value is RosterAgent {
  const {
    name,
    description,
    model,
    tools,
    permissions,
    outsideTools = [],
  } = (value ?? {}) as {
    readonly [Key in keyof RosterAgent]?: unknown;
  };
  return (
    isText(name, LONGEST_NAME) &&
    name.trim() !== '' &&
    isText(description, LONGEST_DESCRIPTION) &&
    typeof model === 'string' &&
    Array.isArray(tools) &&
    typeof permissions === 'object' &&
    Array.isArray(outsideTools) &&
    outsideTools.every(isOutsideTool)
  );
}

const isText = (value: unknown, most: number): value is string => typeof value === 'string' && value.length <= most;
