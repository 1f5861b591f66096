// Everything the activities need of the world, given once by the worker (L54): nothing here is global.
import type { Attachments } from './attachments/attachments.ts';
import type { Attempt } from './attempt.ts';
import type { CallBlock } from './model/judge.ts';
import type { EarlyOutcome, EarlyTraits } from './model/attempt-reply.ts';
import type { Backoff } from './model/classify.ts';
import type { ModelTable } from './model/request.ts';
import type { ModelPort } from './model/stream.ts';
import type { ConfigReader, RunConfig } from './run/configuration.ts';
import type { HookRunner } from './hooks/hooks.ts';
import type { LiveChannel, LiveEvent } from './live/events.ts';
import type { Tool as ApiTool } from '@anthropic-ai/sdk/resources/messages';
import type { Ask, Decision, ToolContextState } from '../workflows/contract/activities.ts';
import type { CallKey, SessionId } from '../workflows/contract/ids.ts';
import type { PermissionMode, PermissionRules } from '../workflows/contract/session.ts';
import type { CompactionRules } from '../workflows/contract/loop.ts';
import type { Entry } from './transcript/log/entries.ts';
import type { Store } from './transcript/store/store.ts';
import type { Transcripts } from './transcript/transcripts.ts';

/** The text without the secrets of this process. */
export type Redact = (text: string) => string;

export type Deps = {
  readonly store: Store;
  readonly live: LiveChannel;
  readonly transcripts: Transcripts;
  readonly config: ConfigReader;
  readonly model: ModelPort;
  /** The model is the scripted one: runs say so. */
  readonly scripted: boolean;
  readonly tools: CallRunner;
  readonly hooks: HookRunner;
  readonly attachments: Attachments;
  readonly afterStop: readonly AfterStopHandler[];
  readonly defaults: RunDefaults;
  /** Perdure's own data, which no workspace may hold or lie in. */
  readonly dataDir?: string;
  readonly warn: (message: string) => void;
  /** For texts of others that are shown or stored: failures of the model API above all. */
  readonly redact: Redact;
  readonly now: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
};

/** Runs once after a run's natural end; `timeoutMs` bounds it (L56). What it throws is reported to `warn`. */
export type AfterStopHandler = {
  readonly name: string;
  readonly timeoutMs: number;
  readonly run: (ended: EndedRun) => Promise<void>;
};

export type EndedRun = {
  readonly session: SessionId;
  readonly queryId: string;
  readonly depth: number;
  readonly run: number;
  readonly cwd: string;
  readonly entries: readonly Entry[];
  readonly signal: AbortSignal;
};

/** What a run gets when its caller did not choose (L57). */
export type RunDefaults = {
  readonly model: string;
  readonly fallbackModels: readonly string[];
  /** Makes summaries (L9, L10, L42). */
  readonly smallModel: string;
  readonly models: ModelTable;
  readonly compaction: CompactionRules;
  readonly batchSummaries: boolean;
  readonly approvalTimeoutMs: number;
  readonly permissionMode: PermissionMode;
  /** Hold beside those of the caller (L55). */
  readonly permissions?: PermissionRules;
  readonly systemPrompt: string;
  readonly maxTurns: number;
  readonly wrapUp: boolean;
  readonly outputCap: number;
  readonly backoff: Backoff;
  readonly stallMs: number;
};

export type CallTraits = EarlyTraits & {
  readonly signature: string;
  /** Claimed when it runs, allowed without asking, and no pre-tool hook: it may run as soon as its reply is stored. */
  readonly atOnce: boolean;
};

/** Runs one call with L33 in full. `context` is what earlier calls have modified (L38). */
export type CallRunner = {
  /** As of the last refresh. */
  readonly definitions: readonly ApiTool[];
  /** Asks what offers the tools for its list (L44). Bounded in time, never throws: the last good list stays. */
  refresh(): Promise<void>;
  traits(config: RunConfig, call: CallBlock, context?: ToolContextState): CallTraits;
  /** What observers may see of a call's input (L18): a copy, perhaps enriched. Never throws. */
  observable(call: CallBlock): unknown;
  /** Beside the stream: no claim, nothing recorded. Null when it was given up. */
  early(
    config: RunConfig,
    call: CallBlock,
    id: string,
    port: EarlyPort,
    context?: ToolContextState,
  ): Promise<EarlyOutcome | null>;
  /**
   * At most once for what may not be repeated, whatever dies; the outcome is recorded under `key` (L40). Or nothing has run and
   * nothing is recorded: someone must be asked first (L55).
   */
  claimed(
    config: RunConfig,
    call: CallBlock,
    key: CallKey,
    attempt: Attempt,
    port: CallPort,
    given: CallGiven,
  ): Promise<EarlyOutcome | { readonly ask: Ask }>;
};

/** `safe`: as it was judged with its reply. `begun`: an earlier activity may have begun the call. */
export type CallGiven = {
  readonly safe: boolean;
  readonly context?: ToolContextState | undefined;
  readonly decision?: Decision | undefined;
  readonly begun?: boolean;
};

export type CallPort = { readonly iteration: number; say(event: LiveEvent): void };

/** Aborted with an AbortCause. */
export type EarlyPort = CallPort & { readonly signal: AbortSignal };
