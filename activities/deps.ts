// Everything the activities need of the world, given once by the worker (L54): nothing here is global.
import type { Attempt } from './attempt.ts';
import type { CallBlock } from './model/judge.ts';
import type { EarlyOutcome, EarlyTraits } from './model/early.ts';
import type { Backoff } from './model/backoff.ts';
import type { ModelTable } from './model/models.ts';
import type { ModelPort } from './model/stream.ts';
import type { ConfigReader, RunConfig } from './run-config.ts';
import type { LiveChannel, LiveEvent } from './live/events.ts';
import type { Message, Tool as ApiTool } from '@anthropic-ai/sdk/resources/messages';
import type { CallKey, SessionId } from '../workflows/contract/ids.ts';
import type { PermissionMode, PermissionRules } from '../workflows/contract/session.ts';
import type { Store } from './transcript/store.ts';
import type { Transcripts } from './transcript/transcripts.ts';

export type Deps = {
  readonly store: Store;
  readonly live: LiveChannel;
  readonly transcripts: Transcripts;
  readonly config: ConfigReader;
  readonly model: ModelPort;
  /** The model is the scripted one: runs say so. */
  readonly scripted: boolean;
  readonly tools: CallRunner;
  readonly observers: readonly ReplyObserver[];
  readonly defaults: RunDefaults;
  readonly warn: (message: string) => void;
  readonly now: () => number;
  /** In [0, 1), for jitter. */
  readonly random: () => number;
};

/**
 * A post-sampling hook: told of each stored reply, after it is stored. It only observes: the loop does not wait for it, and what
 * it throws is reported to `warn` and changes nothing (L21). A reply that is stored just before a crash may go untold.
 */
export type ReplyObserver = (reply: ObservedReply) => unknown;

export type ObservedReply = {
  readonly session: SessionId;
  readonly queryId: string;
  readonly iteration: number;
  readonly message: Message;
};

/** What a run gets when its caller did not choose (L57). */
export type RunDefaults = {
  readonly model: string;
  readonly models: ModelTable;
  readonly permissionMode: PermissionMode;
  /** Hold beside those of the caller (L55). */
  readonly permissions?: PermissionRules;
  readonly systemPrompt: string;
  readonly maxTurns: number;
  readonly outputCap: number;
  readonly backoff: Backoff;
  readonly stallMs: number;
};

/** Runs one call with L33 in full. */
export type CallRunner = {
  readonly definitions: readonly ApiTool[];
  traits(config: RunConfig, call: CallBlock): EarlyTraits & { readonly signature: string };
  /** Beside the stream: no claim, nothing recorded. Null when it was given up. */
  early(config: RunConfig, call: CallBlock, id: string, port: EarlyPort): Promise<EarlyOutcome | null>;
  /** At most once for what may not be repeated, whatever dies; the outcome is recorded under `key` (L40). */
  claimed(config: RunConfig, call: CallBlock, key: CallKey, attempt: Attempt, port: CallPort): Promise<EarlyOutcome>;
};

export type CallPort = { readonly iteration: number; say(event: LiveEvent): void };

/** Aborted with an AbortCause. */
export type EarlyPort = CallPort & { readonly signal: AbortSignal };
