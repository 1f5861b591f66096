// One call of a reply on its way to its outcome. Bound to its run, it knows what it shares with
// the other calls and what the model asked for. `begin` adds one run of it, early or under a claim;
// from then on every step of L33 gets this one object.
import type { Ask } from '../../workflows/contract/activities.ts';
import type { Delegation } from '../../workflows/contract/delegation.ts';
import type { ToolEnv } from '../../workflows/contract/tool-env.ts';
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { Spend } from '../../workflows/contract/loop.ts';
import { type CallKey, type Hash, keyHead, type SessionId } from '../../workflows/contract/ids.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import type { Attempt } from '../attempt.ts';
import type { AskPeople } from '../../tools/people/ask-people.ts';
import type { Host } from '../../system/process/kill-tree.ts';
import { isDamage, type Store } from '../../store/values/store.ts';
import type { CallBlock, ClaimedCallOptions, EarlyCallOptions } from './call-port.ts';
import { type JournaledCall, recordChild } from './journal.ts';
import { type CallSettings, prepareCall, type PreparedCall } from './prepare.ts';
import { isListed, type ToolRegistry } from '../../tools/registry.ts';
import { type AbortCause, Superseded, type ToolContext, ToolFailure } from '../../tools/tool.ts';
import { mayReadByRules } from '../../tools/rules/match-rules.ts';
import type { SeenByTools } from '../../store/view/seen-files.ts';
import { traceparentIn } from '../../store/live/trace-context.ts';
import { present } from '../../workflows/contract/present.ts';
import { readEntries } from '../../store/view/render-entries.ts';
import { resultHash } from '../../store/transcript/preview.ts';

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

export type EarlyRun = EarlyCallOptions & {
  /** Tells that the call, or the check of whether it took effect (L40), is about to run. */
  begins(): void;
  progress(text: string): void;
};

/** One run of a call under its key. */
export type CallRun = Omit<EarlyRun, 'id'> &
  Omit<ClaimedCallOptions, 'mayHaveBegun' | 'asking'> & {
    /**
     * An earlier attempt may have begun the call: processes that one without a claim left are
     * killed first.
     */
    readonly mayHaveBegun: boolean;
    /** Asks, right before an effect, whether this attempt is still the one that counts. */
    readonly fence: Attempt['fence'];
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

export class CallContext<Run = null> {
  readonly environment: CallEnvironment;
  readonly block: CallBlock;
  readonly run: Run;
  #prepared: PreparedCall | undefined;

  constructor(environment: CallEnvironment, block: CallBlock, run: Run, prepared?: PreparedCall) {
    this.environment = environment;
    this.block = block;
    this.run = run;
    this.#prepared = prepared;
  }

  get name(): string {
    return this.block.name;
  }

  /** Begins a run of the call. What was judged of its own input so far holds for that run. */
  begin<Next extends EarlyRun>(run: Next): CallContext<Next> {
    return new CallContext(this.environment, this.block, run, this.#prepared);
  }

  /** Prepares the call with its own input, which is judged once. */
  prepareOwn(): PreparedCall {
    const { environment, block } = this;
    this.#prepared ??= prepareCall(environment.registry, environment, block);
    return this.#prepared;
  }

  /** Prepares the call with an input that may have been put in place of its own. */
  prepareWith(input: unknown): PreparedCall {
    const { environment, block, name } = this;
    if (input === block.input) return this.prepareOwn();
    return prepareCall(environment.registry, environment, { name, input });
  }

  /** `generation` is the claim that children are recorded with; null without a claim (L40). */
  buildContext(this: ToolCall, generation: number | null = null): ToolContext {
    return buildToolContext(this.environment, { ...this.run, generation });
  }
}

/** A call in one run of it. */
export type ToolCall = CallContext<EarlyRun>;

/** A call that has a key: it is claimed, asked about, delegated, and recorded under that. */
export type ClaimedCall = CallContext<CallRun & EarlyRun>;

/** Names the call in the journal. */
export function journalNameOf({ environment: { session }, run: { key } }: ClaimedCall): JournaledCall {
  return { session, key };
}

/**
 * The run of a call that a context is made for. An early call, which may be dropped and made again
 * at will, has no fence. `generation` is the claim that children are recorded with; null for a call
 * without one (L40).
 */
type ContextRun = Pick<EarlyRun, 'id' | 'signal' | 'iteration' | 'progress' | 'messages'> &
  Partial<Pick<CallRun, 'fence' | 'mayHaveBegun' | 'small' | 'askPeople' | 'isOver'>> & {
    readonly generation: number | null;
  };

/** Builds the context that a tool is given with its input from the executor's facts. */
export function buildToolContext(
  environment: Omit<CallEnvironment, 'registry' | 'hooks' | 'host' | 'mode'>,
  run: ContextRun,
): ToolContext {
  const { store, ofHost, session, seenFiles, readMessages, tools, allowedTools } = environment;
  const { generation, small, isOver, mayHaveBegun = false } = run;
  const head = keyHead(run.id);
  const messages = run.messages ?? (readMessages && (() => readMessages(session, head)));
  // Where this worker sends no spans, its caller's span is the nearest one.
  const traceparent = environment.traced ? traceparentIn(environment, run.iteration) : environment.traceparent;
  return {
    cwd: environment.cwd,
    dir: environment.dir ?? environment.cwd,
    ...present({ folders: environment.folders, sessionFiles: environment.sessionFiles }),
    env: environment.env ?? {},
    signal: run.signal,
    fence: async () => {
      if ((await run.fence?.()) === false) throw new Superseded();
    },
    idempotencyKey: run.id,
    queryId: environment.queryId,
    depth: environment.depth,
    ...(traceparent && { traceparent }),
    mayHaveBegun,
    ...(seenFiles && { lastSeen: (path) => seenFiles.of(session, head, path) }),
    ...(small && { askModel: small.ask }),
    isOffered: (tool) => [tools, allowedTools].every((list) => isListed(list, tool)),
    ...(messages && { messages: async () => structuredClone(await messages()) }),
    ...(run.askPeople && { askPeople: run.askPeople }),
    session,
    ...(isOver && { sessionIsOver: () => isOver(session) }),
    progress: (text) => run.progress(text),
    mayRead: (path) => mayReadByRules(environment, path),
    readStored: (name) => readStored({ store, session, head }, name),
    spawned: async (child) => {
      if (generation !== null) await recordChild(ofHost, { session, key: run.id as CallKey }, child, generation);
    },
  };
}

type TranscriptPlace = { readonly store: Store; readonly session: SessionId; readonly head: Hash | null };

/**
 * Reads a stored result or a summarised stretch (L6, L8–L10). Throws ToolFailure when the value is
 * damaged, which the model can read; any other failure of the store is thrown as it is.
 */
async function readStored({ store, session, head }: TranscriptPlace, name: string): Promise<Uint8Array | null> {
  const hash = resultHash(name) as Hash | undefined;
  try {
    return hash === undefined ? await readEntries(store, session, head, name) : await store.get(hash);
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (error.problem === 'missing') return null;
    throw new ToolFailure(`The stored result ${name} is damaged and cannot be read.`, { cause: error });
  }
}
