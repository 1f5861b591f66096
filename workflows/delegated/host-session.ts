// The session that delegates calls, as far as this room needs it: session.ts lies above this room.
import type { AgentOrigin } from '../contract/delegation.ts';
import type { WorkspacePlace } from '../contract/hosts.ts';
import type { SessionId } from '../contract/ids.ts';
import type { PendingApproval, RunOptions, SessionHost, SessionInput } from '../contract/session.ts';
import type { SettledEntry } from '../contract/waits.ts';
import type { Delegations } from './delegations.ts';
import type { GrantingRun, RunTaken, SpentSince } from './shares.ts';

/** `agent`: the session is itself that of an agent. */
export type HostInput = SessionInput & { readonly agent?: AgentOrigin };

type HostFacts = {
  readonly options: RunOptions;
  readonly host?: SessionHost | null;
  /** Where the run under way works. */
  readonly workspace?: WorkspacePlace | null;
};

export type HostSession = {
  readonly id: SessionId;
  readonly input: HostInput;
  readonly facts: {
    readonly now: HostFacts & SpentSince;
    beginPrompt(used: RunTaken): void;
  };
  readonly delegations: Delegations;
  readonly approvals: { readonly pending: readonly PendingApproval[] };
  /** `count`: how many messages wait. */
  readonly inbox: { readonly count: number };
  /** The run under way; null without one. */
  readonly run: unknown;
  /** The run under way, as it grants shares of its limits to agents. */
  readonly granting: GrantingRun | null;
  /** Agents of the run tell it which of their calls wait. */
  readonly recordsThreads: boolean;
  readonly waits: {
    /** Stores what people did. */
    noteStop(): Promise<void>;
    settle(ended: Omit<SettledEntry, 'kind' | 'at'>): Promise<void> | undefined;
  };
  /** A person has interrupted the run, and has not ended the session. */
  readonly isInterrupted: boolean;
  /** A person has ended the waits that are open. */
  readonly resumed: boolean;
};
