// Everything that the activities need from outside, passed in once by the worker (L54): nothing
// here is global.
import type { ModelDeps, StepMemory } from './model-deps.ts';
import type { SkillSettings } from '../tools/skill-settings.ts';
import type { AttachmentProvider } from './attachments/prefetch.ts';
import type { Attempt } from './attempt.ts';
import type { RunConfig } from '../store/configuration.ts';
import type { ModelTable } from '../store/model-facts.ts';
import type { Places } from '../system/process/places.ts';
import type { Network } from '../system/network.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Client } from '@temporalio/client';
import type { HostedSessions } from '../store/hosted-sessions.ts';
import type { RunOptions, SessionHost } from '../workflows/contract/session.ts';
import type { EndWorktree, WorktreeEnd } from '../workflows/contract/delegation.ts';
import type { CompactionRules, Spend } from '../workflows/contract/loop.ts';
import type { WebhookType } from '../workflows/contract/webhooks.ts';
import type { Entry } from '../store/log/entries.ts';
import type { WorkQueues } from '../store/sandbox/queue.ts';
import type { DeferSetting } from '../tools/deferred-tools.ts';
import type { ToolServers } from '../tools/registry.ts';
import type { AgentSettings } from '../tools/agent-types.ts';

export type Deps = ModelDeps & {
  /** The work items of self-hosted environments (G76). */
  readonly work: WorkQueues;
  /** MCP servers, some of whose tools may not be there yet. */
  readonly servers?: ToolServers;
  /** Commands in the background, which end with the worker and with their session (L84). */
  readonly background?: { endSession(session: SessionId): Promise<void>; close(): Promise<void> };
  /** Sandboxes that wait for commands, which end with the worker. */
  readonly prepared?: { close(): void };
  /** Absent: no agent gets a work tree of its own (L72). */
  readonly worktrees?: Worktrees;
  /** Absent: no endpoint hears of sessions (G70). */
  readonly webhooks?: WebhookMeans;
  /** Absent: runs have no skills (L79). */
  readonly skills?: SkillSettings;
  readonly afterStop: readonly AfterStopHandler[];
  /**
   * Makes the summaries of compactions in the place of a model (L10, L54). Absent: a model does.
   */
  readonly autocompact?: Summarizer;
  /** Absent: nothing is remembered, whatever a run is opened with (L80). */
  readonly memory?: Memory;
  readonly defaults: RunDefaults;
  /** Perdure's own data, which no workspace may hold or lie in. */
  readonly dataDir?: string;
  /** The places that no extra folder of a run may lie in. Absent: no places are known. */
  readonly places?: Places;
  /** Where machines share a store: the host whose disk holds the workspaces of this worker. */
  readonly host?: SessionHost | undefined;
  /** With `host`: how sessions come and go between hosts (T18). */
  readonly hosts?: HostMeans;
  /** Workspaces of new sessions are made in this folder where they are missing. */
  readonly workspaces?: string;
};

/**
 * An endpoint that hears of managed sessions. `secret` signs what is sent: `whsec_`, then 24 to 64
 * bytes as base64.
 */
export type WebhookEndpoint = {
  readonly url: string;
  readonly secret: string;
  readonly events: readonly WebhookType[];
};

/** The endpoints, and how this worker reaches them. */
type WebhookMeans = { readonly endpoints: readonly WebhookEndpoint[]; readonly fetch: Network['fetch'] };

export type HostMeans = {
  /** The sessions whose folders are on this host. */
  readonly hosted: HostedSessions;
  /** Milliseconds without a worker on its host after which a session moves to another. */
  readonly graceMs: number;
  /** Tells whether this host hands its sessions over, and takes no others (D7). */
  isLeaving(): boolean;
  beginLeaving(): void;
  /** Tells whether a worker of the host that polls this queue is at work. */
  isAtWork(temporal: Client, queue: string): Promise<boolean>;
};

/**
 * Returns the summary of what a compaction leaves out, or null when there is none. `text` is the
 * conversation as a model would be asked about it, `system` the instruction.
 */
export type Summarizer = (question: { readonly system: string; readonly text: string }) => Promise<string | null>;

/** Git work trees of isolated agents (L72). */
export type Worktrees = {
  /**
   * Opens the work tree of an agent. `workspace` is the absolute real path of the parent's
   * workspace. Throws StoreError.
   */
  open(attempt: Attempt, workspace: string): Promise<OpenedWorktree>;
  /** Ends the work tree; null when none was begun. Throws StoreError. */
  end(attempt: Attempt, about: Pick<EndWorktree, 'title' | 'reason'>): Promise<WorktreeEnd | null>;
};

/**
 * `path` is where the agent works, `prefix` the end of it that the workspace has in its repository.
 * `elsewhere`: another host has it. `detail` is the end of a sentence that says why there can be
 * none.
 */
type OpenedWorktree =
  | { readonly kind: 'opened' | 'elsewhere'; readonly path: string; readonly prefix?: string }
  | { readonly kind: 'problem'; readonly detail: string };

/**
 * Runs once after a run's natural end; `timeoutMs` bounds it (L56). An error that it throws is
 * logged.
 */
export type AfterStopHandler = {
  readonly name: string;
  readonly timeoutMs: number;
  readonly run: (finished: EndedRun) => Promise<void>;
};

export type EndedRun = {
  readonly session: SessionId;
  readonly queryId: string;
  readonly depth: number;
  readonly run: number;
  readonly cwd: string;
  /** The caller's span, by its W3C trace context (O15). */
  readonly traceparent?: string;
  readonly entries: readonly Entry[];
  readonly signal: AbortSignal;
};

/** Notes of workspaces, as runs use them (L80). */
export type Memory = StepMemory & {
  readonly provider: AttachmentProvider;
  /**
   * Writes the note of a run that has ended, and resolves with its cost. Throws only when the
   * attempt is no longer ours.
   */
  extract(
    attempt: Attempt,
    about: { readonly config: RunConfig; readonly step: number },
    finished: Pick<EndedRun, 'entries'>,
  ): Promise<Spend>;
};

/** The options that a worker always has a value for. */
type ChosenOption =
  | 'model'
  | 'fallbackModels'
  | 'approvalTimeoutMs'
  | 'permissionMode'
  | 'systemPrompt'
  | 'instructions'
  | 'memory'
  | 'suggestPrompts'
  | 'maxTurns'
  | 'wrapUp';

/** The options of a run whose caller did not choose (L57), and what only a worker decides. */
export type RunDefaults = Required<Pick<RunOptions, ChosenOption>> &
  Pick<RunOptions, 'effort' | 'permissions' | 'additionalDirectories'> &
  Pick<RunConfig, 'toolNames' | 'webSearch' | 'backoff' | 'stallMs' | 'requestMs' | 'overflowWords'> & {
    /** The model that makes summaries (L9, L10, L42). */
    readonly smallModel: string;
    /** The models of a worker's configuration, which go before what is known otherwise (X1). */
    readonly models: ModelTable;
    readonly compaction: CompactionRules;
    readonly batchSummaries: boolean;
    /** When tools of MCP servers are left out until the model finds them (L74). */
    readonly deferTools?: DeferSetting;
    /** False: no bound (L34). */
    readonly maxSameResults: number | false;
    /** The number of notes of runs in a workspace at which they are merged (L80). */
    readonly consolidateMemoryAfter: number;
    readonly agents: AgentSettings;
    /** max_tokens of a request. Absent: as much as thinking of today needs (L26). */
    readonly outputCap?: number;
    readonly firstByteMs: number;
  };
