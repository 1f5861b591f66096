// What waits for people in the sessions of agents (L70): told by each to the root, and listed
// there, where people see it and decide.
import type { AgentAsks, AskingAgent, PendingApproval } from '../contract/people.ts';
import { isHash, type SessionId } from '../contract/ids.ts';
import { LISTED_APPROVALS } from '../contract/session.ts';

/** Characters of a text of a call that waits, and the agents on the way to it. */
const [LONGEST_ASKED, LONGEST_PATH] = [1_000, 20];

/**
 * Characters of JSON of all that waits: it travels in a handover. What is beyond is listed with its
 * agent alone.
 */
const MOST_LISTED = 256 * 1024;

/** Sessions of agents in which something waits that are listed at a time. */
const MOST_ASKING = 50;

export type CarriedAsks = readonly (readonly [session: SessionId, waiting: readonly PendingApproval[]])[];

/** At the root: what waits, by session. */
export class AskList {
  private readonly asks: Map<SessionId, readonly PendingApproval[]>;

  constructor(carried: CarriedAsks) {
    this.asks = new Map(carried);
  }

  get carry(): CarriedAsks {
    return [...this.asks];
  }

  /** Oldest session first. */
  get waiting(): readonly PendingApproval[] {
    return [...this.asks.values()].flat();
  }

  /** Whether what waits has changed. */
  hear(value: unknown): boolean {
    if (!isAsks(value)) return false;
    const { session } = value;
    const asks = this.withinRoom(value);
    if (asks.length === 0) return this.asks.delete(session);
    if (this.asks.size >= MOST_ASKING && !this.asks.has(session)) return false;
    this.asks.set(session, asks);
    return true;
  }

  /** The oldest of them, as many as there is room for beside those of other sessions. */
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

/** Anyone can signal: shape only. */
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
  const { session, call: own, path } = (agent ?? {}) as { readonly [Key in keyof AskingAgent]?: unknown };
  const isPath = Array.isArray(path) && path.length <= LONGEST_PATH;
  const texts: readonly unknown[] = [call, tool, reason, inputHash, session, own, ...(isPath ? path : [null])];
  return (
    texts.every((text) => typeof text === 'string' && text.length <= LONGEST_ASKED) &&
    isHash(head) &&
    Number.isSafeInteger(index) &&
    Number.isFinite(deadline)
  );
}
