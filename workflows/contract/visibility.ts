// The search attributes of a session (O1): their names, types and values. The client that opens a
// session and its workflow compute the same ones. Values are plain to anyone who reads the server,
// so no attribute holds what a codec would seal.
import { jsonBytes, LARGEST_TAGS, type Tags, tagValues } from './facts.ts';
import type { Terminal } from './loop.ts';
import type { SessionMemo } from './session.ts';

/** Temporal's names of the types. */
export type AttributeType = 'KEYWORD' | 'KEYWORD_LIST' | 'INT' | 'DOUBLE' | 'DATETIME';

export type AttributeKey = keyof typeof ATTRIBUTES;

/** `agent`, `parent` and `root` are set for subagents alone. */
export const ATTRIBUTES = {
  phase: { name: 'PerdurePhase', type: 'KEYWORD' },
  reason: { name: 'PerdureReason', type: 'KEYWORD' },
  model: { name: 'PerdureModel', type: 'KEYWORD' },
  agent: { name: 'PerdureAgent', type: 'KEYWORD' },
  parent: { name: 'PerdureParent', type: 'KEYWORD' },
  root: { name: 'PerdureRoot', type: 'KEYWORD' },
  turns: { name: 'PerdureTurns', type: 'INT' },
  tokens: { name: 'PerdureTokens', type: 'INT' },
  cents: { name: 'PerdureCents', type: 'DOUBLE' },
  waitingSince: { name: 'PerdureWaitingSince', type: 'DATETIME' },
  tags: { name: 'PerdureTags', type: 'KEYWORD_LIST' },
  error: { name: 'PerdureError', type: 'KEYWORD' },
} as const satisfies Readonly<Record<string, { readonly name: string; readonly type: AttributeType }>>;

/** The values; null removes an attribute. Cents are US cents. */
export type AttributeValues = {
  readonly phase: string;
  readonly reason: string | null;
  readonly model: string | null;
  /** Present in an agent's session alone. */
  readonly agent?: string;
  readonly parent?: string;
  readonly root?: string;
  readonly turns: number;
  readonly tokens: number;
  readonly cents: number | null;
  readonly waitingSince: Date | null;
  readonly tags: readonly string[];
  readonly error: string | null;
};

/** A server keeps at most 255 characters. */
const LONGEST_VALUE = 200;

/** `sealed`: payloads are sealed, so only the kind of an error is told. */
export function attributeValues({ phase, last, facts }: SessionMemo, sealed: boolean): AttributeValues {
  const { model = null, turns = 0, tokens = 0, cents = null, waitingSince = null, tags = {}, agent } = facts ?? {};
  return {
    phase,
    reason: last?.terminal.reason ?? null,
    model: model?.slice(0, LONGEST_VALUE) ?? null,
    ...(agent && { agent: agent.type.slice(0, LONGEST_VALUE), parent: agent.parent, root: agent.root }),
    turns,
    tokens,
    cents,
    waitingSince: waitingSince === null ? null : new Date(waitingSince),
    tags: fittingTags(tags),
    error: last === null ? null : errorValue(last.terminal, sealed),
  };
}

/**
 * Keeps as many tags as a server takes: more would end the workflow. Sessions of earlier releases
 * may have too many, and any client can begin one.
 */
function fittingTags(tags: Tags): readonly string[] {
  let bytes = 2;
  return tagValues(tags).filter((tag) => {
    const size = jsonBytes(tag) + 1;
    const fits = tag.length <= LONGEST_VALUE && bytes + size <= LARGEST_TAGS;
    if (fits) bytes += size;
    return fits;
  });
}

function errorValue(terminal: Terminal, sealed: boolean): string | null {
  if (!isBadEnd(terminal)) return null;
  const status = 'status' in terminal && terminal.status !== undefined ? ` ${terminal.status}` : '';
  const detail = sealed || !('detail' in terminal) ? '' : `: ${terminal.detail.replaceAll(/\s+/g, ' ')}`;
  return `${terminal.reason}${status}${detail}`.slice(0, LONGEST_VALUE);
}

/** An end that someone should look at. A stop was on purpose, except for the time limit. */
export function isBadEnd({ reason }: Pick<Terminal, 'reason'>): boolean {
  return reason !== 'completed' && reason !== 'aborted_streaming' && reason !== 'aborted_tools';
}
