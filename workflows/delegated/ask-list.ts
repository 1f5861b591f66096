// Lists what waits for people in the sessions of agents (L70). Each of them reports to the root
// session, where people see it and decide.
import type { AgentAsks, RequestingAgent, PendingApproval } from '../contract/people.ts';
import { isHash, type SessionId } from '../contract/ids.ts';
import { LISTED_APPROVALS } from '../contract/session.ts';

/** Characters of a text of a call that waits. */
const LONGEST_ASKED = 1_000;

/** Agents on the way to a call that waits. */
const LONGEST_PATH = 20;

/**
 * Characters of JSON of all that waits, because it travels in a handover. A question that does not
 * fit is listed in its agent's own session alone.
 */
const MOST_LISTED = 256 * 1024;

/** Sessions of agents that are listed at a time. */
const MOST_ASKING = 50;

export type CarriedAsks = readonly (readonly [session: SessionId, waiting: readonly PendingApproval[]])[];

/** The root's list of what waits, by session. */
export class AskList {
  private readonly asks: Map<SessionId, readonly PendingApproval[]>;

  constructor(carried: CarriedAsks) {
    this.asks = new Map(carried);
  }

  get carry(): CarriedAsks {
    return [...this.asks];
  }

  /** All that waits, the oldest session first. */
  get waiting(): readonly PendingApproval[] {
    return [...this.asks.values()].flat();
  }

  /** Takes a signal's value. Returns whether what waits has changed. */
  hear(value: unknown): boolean {
    if (!isAsks(value)) return false;
    const { session } = value;
    const asks = this.withinRoom(value);
    if (asks.length === 0) return this.asks.delete(session);
    if (this.asks.size >= MOST_ASKING && !this.asks.has(session)) return false;
    this.asks.set(session, asks);
    return true;
  }

  /** Returns as many of a session's oldest questions as the other sessions leave room for. */
  private withinRoom({ session, asks }: AgentAsks): readonly PendingApproval[] {
    const others = [...this.asks].filter(([each]) => each !== session);
    let room = MOST_LISTED - JSON.stringify(others).length;
    return asks.filter((ask) => {
      room -= JSON.stringify(ask).length;
      return room >= 0;
    });
  }

  drop(session: SessionId): void {
    this.asks.delete(session);
  }

  clear(): void {
    this.asks.clear();
  }
}

/** Anyone can signal, so the shape is checked. */
function isAsks(value: unknown): value is AgentAsks {
  const { asks, session } = (value ?? {}) as { readonly [Key in keyof AgentAsks]?: unknown };
  return (
    typeof session === 'string' &&
    session.length <= LONGEST_ASKED &&
    Array.isArray(asks) &&
    asks.length <= LISTED_APPROVALS &&
    asks.every(isAsk)
  );
}

function isAsk(value: unknown): boolean {
  const { call, tool, reason, inputHash, head, index, deadline, agent } = (value ?? {}) as {
    readonly [Key in keyof PendingApproval]?: unknown;
  };
  const { session, call: own, path } = (agent ?? {}) as { readonly [Key in keyof RequestingAgent]?: unknown };
  const isPath = Array.isArray(path) && path.length <= LONGEST_PATH;
  const texts: readonly unknown[] = [call, tool, reason, inputHash, session, own, ...(isPath ? path : [null])];
  return (
    texts.every((text) => typeof text === 'string' && text.length <= LONGEST_ASKED) &&
    isHash(head) &&
    Number.isSafeInteger(index) &&
    Number.isFinite(deadline)
  );
}
