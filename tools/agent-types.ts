// The kinds of agents that a call of `agent` may start (L66), and how narrow each is: a type is
// added to what its parent may do, and widens nothing of it (L70).
import type { AgentCounts, Isolation } from '../workflows/contract/delegation.ts';
import type { Effort } from '../workflows/contract/loop.ts';
import type { PermissionMode, PermissionRules, RunOptions } from '../workflows/contract/session.ts';
import { isListed } from './registry.ts';

export type AgentType = {
  /** A text for the model that chooses the type. */
  readonly description: string;
  readonly systemPrompt?: string;
  /** Names of tools that its parent has. Absent: all of these. */
  readonly tools?: readonly string[];
  /** `small` is the worker's small model. Absent, or `inherit`: its parent's model. */
  readonly model?: string;
  /** How much its model puts into its replies (X2). Absent: as its parent's. */
  readonly effort?: Effort;
  readonly permissionMode?: PermissionMode;
  /** `worktree`: each agent of it works in a git work tree and on a branch of its own (L72). */
  readonly isolation?: Isolation;
  /** Its calls end at once, unless they say otherwise (L71). */
  readonly background?: boolean;
  /**
   * The limits of each of its runs. The rest of its parent's limits counts where it is less (L69).
   */
  readonly limits?: AgentTypeLimits;
  /** A JSON schema that its answer must satisfy (L53). */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
};

export type AgentTypeLimits = Pick<RunOptions, 'maxTurns' | 'maxBudgetUsd' | 'maxTokens' | 'timeoutMs'>;

/**
 * `depth` counts agents below a session that a person began, `open` those of one session at a time,
 * `perRun` those that one run may start (L68).
 */
export type AgentLimits = AgentCounts & { readonly depth: number };

export type AgentSettings = {
  readonly types: Readonly<Record<string, AgentType>>;
  readonly limits: AgentLimits;
};

export const GENERAL = 'general';

/** The agent's answer goes to another agent, which sees nothing else of its work. */
export const ANSWER =
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
 * Modes from the widest on. `plan` runs reads alone; `dontAsk` runs what no person need be asked
 * about.
 */
const MODES: readonly PermissionMode[] = ['bypass', 'acceptEdits', 'default', 'dontAsk', 'plan'];

export function pickNarrowestMode(modes: readonly (PermissionMode | undefined)[]): PermissionMode {
  const ranks = modes.map((mode) => (mode === undefined ? 0 : MODES.indexOf(mode)));
  return MODES[Math.max(0, ...ranks)]!;
}

/**
 * Narrows the rules of an agent. Where the parent asks no person, the agent asks none either,
 * whatever its own mode: a call that would ask is denied.
 */
export function narrowRules(
  parent: { readonly mode: PermissionMode; readonly permissions?: PermissionRules },
  mode: PermissionMode,
  added: PermissionRules = {},
): PermissionRules {
  const { allow = [], deny = [], ask = [] } = parent.permissions ?? {};
  const denied = [...deny, ...(added.deny ?? [])];
  const questioned = [...ask, ...(added.ask ?? [])];
  const asksNobody = parent.mode === 'dontAsk' && mode !== 'dontAsk';
  return { allow, deny: asksNobody ? [...denied, ...questioned] : denied, ask: questioned };
}

/**
 * Intersects the lists. Undefined: all tools. Where one list names all tools of a server, and
 * another one of them, that one stays.
 */
export function intersectTools(sources: readonly (readonly string[] | undefined)[]): readonly string[] | undefined {
  const lists = sources.filter((names) => names !== undefined);
  if (lists.length === 0) return undefined;
  return [...new Set(lists.flat())].filter((name) => lists.every((names) => isListed(names, name)));
}

/** Takes the lower of each limit that is given. */
export function pickLowestLimits(sources: readonly (AgentTypeLimits | undefined)[]): AgentTypeLimits {
  const lowest = (key: keyof AgentTypeLimits): AgentTypeLimits => {
    const values = sources.flatMap((limits) => (limits?.[key] === undefined ? [] : [limits[key]]));
    return values.length === 0 ? {} : { [key]: Math.min(...values) };
  };
  return { ...lowest('maxTurns'), ...lowest('maxBudgetUsd'), ...lowest('maxTokens'), ...lowest('timeoutMs') };
}
