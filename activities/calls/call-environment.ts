// The environment that all calls of a run share, the call itself, and one run of it.
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { Ask, Decision } from '../../workflows/contract/activities.ts';
import type { DelegatedEnd, Delegation } from '../../workflows/contract/delegation.ts';
import type { ToolEnv } from '../../workflows/contract/tool-env.ts';
import type { Spend } from '../../workflows/contract/loop.ts';
import type { CallKey, Hash, SessionId } from '../../workflows/contract/ids.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import type { LiveEvent } from '../../store/live/events.ts';
import type { Attempt } from '../attempt.ts';
import type { AskPeople } from '../../tools/people/ask-people.ts';
import type { Host } from '../../system/process/host.ts';
import type { Store } from '../../store/values/store.ts';
import type { CallSettings, NamedInput } from './prepare.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import type { AbortCause, ToolContext } from '../../tools/tool.ts';
import type { SeenByTools } from '../../store/view/seen-files.ts';

/** The means that the calls of a run share. */
export type CallEnvironment = CallSettings & {
  readonly registry: ToolRegistry;
  readonly hooks: HookRunner;
  readonly store: Store;
  /** A store for what concerns this machine alone. */
  readonly ofHost: Store;
  readonly session: SessionId;
  readonly host: Host;
  /** Variables for commands and other tools. */
  readonly env?: ToolEnv;
  /** The run's query id (L13). */
  readonly queryId: string;
  readonly depth: number;
  readonly traceparent?: string;
  readonly traced?: boolean;
  /** The files that tools saw. Absent: nothing is known of them. */
  readonly seenFiles?: SeenByTools;
  /**
   * Returns what the model was shown for the last reply of a transcript. Absent: tools are given no
   * conversation.
   */
  readonly readMessages?: MessageReader;
};

export type MessageReader = (session: SessionId, head: Hash | null) => Promise<readonly MessageParam[]>;

/** A tool_use block of a reply. `toolUseId` is the model's own id of the call, for hooks. */
export type CallRequest = NamedInput & { readonly index: number; readonly toolUseId: string };

export type EarlyRun = {
  /**
   * An id unique to this attempt: the call's own key needs the head of a reply that is not stored
   * yet.
   */
  readonly id: string;
  /** Aborted with an AbortCause. */
  readonly signal: AbortSignal;
  readonly iteration: number;
  /** What the model was shown for the reply. Absent: what the call's transcript holds. */
  readonly messages?: () => Promise<readonly MessageParam[]>;
  /** Tells that the call, or the check of whether it took effect (L40), is about to run. */
  begins(): void;
  progress(text: string): void;
  say(event: LiveEvent): void;
};

export type CallRun = Omit<EarlyRun, 'id'> & {
  readonly key: CallKey;
  /**
   * The judgement made with the reply: it decided which calls run in parallel and whether this one
   * needs a claim (L35).
   */
  readonly safe: boolean;
  /**
   * No attempt can have begun the call: this one has just stored its reply. Or it is known to have
   * no outcome yet.
   */
  readonly fresh?: boolean;
  /** Asks, right before an effect, whether this attempt is still the one that counts. */
  readonly fence: Attempt['fence'];
  /**
   * An earlier attempt may have begun the call: processes that one without a claim left are killed
   * first.
   */
  readonly mayHaveBegun: boolean;
  /** It began while its reply streamed, and was given up (L37). */
  readonly givenUp?: true;
  /** Someone was asked about this call (L55). */
  readonly decision?: Decision;
  /** The workflow has carried it out (L62). */
  readonly delegated?: DelegatedEnd;
  /** No hook is asked about its end; it was handed over that way. */
  readonly plain?: boolean;
  /** Absent where no call may ask the small model. */
  readonly small?: SmallModelOfCall;
  readonly askPeople?: AskPeople;
  /** Absent where the attempt runs without a server. */
  readonly isOver?: Attempt['isOver'];
};

/** The small model as one call asks it (L86), and the cost of that in all attempts so far. */
export type SmallModelOfCall = { readonly ask: NonNullable<ToolContext['askModel']>; spend(): Spend };

/**
 * The attempt was stopped, the run was not (L50): nothing is recorded, and another attempt runs the
 * call or reports it. `tool` says that the tool was not called, or had not come back; absent, it
 * has ended.
 */
export type VoidAttempt = { readonly kind: 'void'; readonly cause: AbortCause; readonly tool?: 'untouched' | 'hung' };

/** Nothing has run and nothing is recorded: someone must be asked first (L55). */
export type ApprovalNeeded = { readonly kind: 'ask'; readonly ask: Ask };

/** The call is recorded as the workflow's to carry out; nothing else of it has run (L62). */
export type DelegationNeeded = { readonly kind: 'delegate'; readonly delegation: Delegation };
