// Everything that one model call needs from outside, and the ports of it. The worker passes it in
// once, with the rest of the activities' deps (L54).
import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { ConfigReader, RunConfig } from '../store/configuration.ts';
import type { LiveChannel } from '../store/live/events.ts';
import type { ModelRequest, Observe } from '../store/live/observe.ts';
import type { Models } from '../store/model-facts.ts';
import type { ExtendedView, Transcripts } from '../store/transcript/transcripts.ts';
import type { Store } from '../store/values/store.ts';
import type { Log } from '../system/log.ts';
import type { Redact } from '../system/redact.ts';
import type { RunServers } from '../tools/mcp/run-servers-port.ts';
import type { CallModel } from '../workflows/contract/activities.ts';
import type { SessionId } from '../workflows/contract/ids.ts';
import type { Spend } from '../workflows/contract/loop.ts';
import type { Attachments } from './attachments/prefetch.ts';
import type { Attempt } from './attempt.ts';
import type { CallRunner } from './calls/call-port.ts';
import type { HookRunner } from './hooks/hooks.ts';
import type { Snapshots } from './snapshots/snapshots-port.ts';

export type { ModelRequest };

export type ModelDeps = {
  readonly store: Store;
  readonly live: LiveChannel;
  readonly transcripts: Transcripts;
  readonly config: ConfigReader;
  readonly model: ModelPort;
  readonly models: Models;
  /** The model is the scripted one, and runs say so. */
  readonly scripted: boolean;
  readonly tools: CallRunner;
  /** Absent: runs bring no MCP servers. */
  readonly runServers?: RunServers;
  /** Absent: files are not captured (T1). */
  readonly snapshots?: Snapshots;
  readonly hooks: HookRunner;
  readonly attachments: Attachments;
  /** Absent: nothing is remembered, whatever a run is opened with (L80). */
  readonly memory?: StepMemory;
  readonly log: Log;
  readonly observe: Observe;
  /** Redacts texts of others that are shown or stored, failures of the model API above all. */
  readonly redact: Redact;
  readonly now: () => number;
  /** Returns a number in [0, 1), for jitter. */
  readonly random: () => number;
};

/**
 * The narrow seam to the model (L54): everything else about it is HTTP. `alive` is called for each
 * piece of an answer, pings too.
 */
export type ModelPort = (
  body: ModelRequest,
  signal: AbortSignal,
  alive?: () => void,
) => Promise<AsyncIterable<RawMessageStreamEvent>>;

/** Notes of workspaces, as the steps of a run use them (L80). */
export type StepMemory = {
  /**
   * Tells that a reply was stored: once in a run, `provider` picks the notes that matter to its
   * prompts. Never throws.
   */
  prepare(step: MemoryStep): void;
  /** Returns and clears the unbilled cost of picking notes. */
  takeSpend(session: SessionId): Spend;
};

export type MemoryStep = {
  readonly attempt: Attempt;
  readonly config: RunConfig;
  readonly input: Pick<CallModel, 'iteration' | 'step' | 'left'>;
  readonly base: ExtendedView;
};
