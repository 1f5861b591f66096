// The kinds of agents that a call of `agent` may start (L66), and how narrow each is: what a type
// says is added to what its parent may do, and widens nothing of it (L70).
import type { AgentCounts, Isolation } from '../workflows/contract/delegation.ts';
import type { Effort } from '../workflows/contract/loop.ts';
import type { PermissionMode, PermissionRules, RunOptions } from '../workflows/contract/session.ts';
import { isListed } from './listed.ts';

export type AgentType = {
  /** For the model that chooses it. */
  readonly description: string;
  readonly systemPrompt?: string;
  /** Of those that its parent has. Absent: all of these. */
  readonly tools?: readonly string[];
  /** `small`: the worker's small model. Absent, or `inherit`: that of its parent. */
  readonly model?: string;
  /** How much its model puts into its replies (X2). Absent: as its parent's. */
  readonly effort?: Effort;
  readonly permissionMode?: PermissionMode;
  /** `worktree`: each agent of it works in a git work tree and on a branch of its own (L72). */
  readonly isolation?: Isolation;
  /** Its calls end at once, unless they say otherwise (L71). */
  readonly background?: boolean;
  /**
   * Of each of its runs. What is left of its parent's limits goes before where it is less (L69).
   */
  readonly limits?: AgentTypeLimits;
  /** A JSON schema that its answer must satisfy (L53). */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
};

export type AgentTypeLimits = Pick<RunOptions, 'maxTurns' | 'maxBudgetUsd' | 'maxTokens' | 'timeoutMs'>;

/**
 * `depth`: of agents below a session that a person began. `open`: at a time, of one session.
 * `perRun`: that one run may start (L68).
 */
export type AgentLimits = AgentCounts & { readonly depth: number };

export type AgentSettings = {
  readonly types: Readonly<Record<string, AgentType>>;
  readonly limits: AgentLimits;
};

export const GENERAL = 'general';

/** Its answer goes to another agent, which sees nothing else of its work. */
const ANSWER =
  'You do one task for another agent, which sees nothing but your last message: say there what you found or did, with paths and names, and what is open. ' +
  'Nobody answers questions: decide yourself, and say what you decided.';

export const agentDefaults: AgentSettings = {
  types: {
    [GENERAL]: {
      description: 'Works on a task of several steps by itself, with the same tools.',
      systemPrompt: `You are an agent that completes a task in a workspace, using the tools you are given. ${ANSWER}`,
    },
    explore: {
      description: 'Reads and searches, changes nothing, and answers with what it found. Quick and cheap.',
      systemPrompt: `You look for what you are asked about in a workspace. You change nothing. ${ANSWER}`,
      tools: ['read', 'glob', 'grep'],
      model: 'small',
      permissionMode: 'plan',
    },
  },
  limits: { depth: 3, open: 8, perRun: 50 },
};

/**
 * From the widest on. `plan` runs what reads alone; `dontAsk` what no person need be asked about.
 */
const modes: readonly PermissionMode[] = ['bypass', 'acceptEdits', 'default', 'dontAsk', 'plan'];

export function narrowestMode(given: readonly (PermissionMode | undefined)[]): PermissionMode {
  const ranks = given.map((mode) => (mode === undefined ? 0 : modes.indexOf(mode)));
  return modes[Math.max(0, ...ranks)]!;
}

/**
 * Where nobody is to be asked, an agent asks nobody either, whatever its own mode: what would be
 * asked about is denied.
 */
export function narrowedRules(
  parent: { readonly mode: PermissionMode; readonly permissions?: PermissionRules },
  mode: PermissionMode,
  added: PermissionRules = {},
): PermissionRules {
  const { allow = [], deny = [], ask = [] } = parent.permissions ?? {};
  const [denied, asked] = [
    [...deny, ...(added.deny ?? [])],
    [...ask, ...(added.ask ?? [])],
  ];
  const asksNobody = parent.mode === 'dontAsk' && mode !== 'dontAsk';
  return { allow, deny: asksNobody ? [...denied, ...asked] : denied, ask: asked };
}

/**
 * Undefined: all. What one list says of all tools of a server, and another of one of them, is that
 * one.
 */
export function narrowestTools(given: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const lists = given.filter((names) => names !== undefined);
  if (lists.length === 0) return undefined;
  return [...new Set(lists.flat())].filter((name) => lists.every((names) => isListed(names, name)));
}

/** The lower of each that is given. */
export function lowestLimits(given: readonly (AgentTypeLimits | undefined)[]): AgentTypeLimits {
  const lowest = (key: keyof AgentTypeLimits): AgentTypeLimits => {
    const values = given.flatMap((limits) => (limits?.[key] === undefined ? [] : [limits[key]]));
    return values.length === 0 ? {} : { [key]: Math.min(...values) };
  };
  return { ...lowest('maxTurns'), ...lowest('maxBudgetUsd'), ...lowest('maxTokens'), ...lowest('timeoutMs') };
}
