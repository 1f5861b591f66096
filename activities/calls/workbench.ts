// The workbench holds what the calls of a run share; beside it stand the call itself and one run of
// it.
import type { Ask, Decision } from '../../workflows/contract/activities.ts';
import type { DelegatedEnd, Delegation } from '../../workflows/contract/delegation.ts';
import type { ToolEnv } from '../../workflows/contract/tool-env.ts';
import type { Spend } from '../../workflows/contract/loop.ts';
import { type CallKey, type SessionId, type Hash, keyHead } from '../../workflows/contract/ids.ts';
import type { PermissionRules } from '../../workflows/contract/session.ts';
import { mayReadByRules } from '../../tools/rules/match-rules.ts';
import type { HookRunner } from '../hooks/hooks.ts';
import type { LiveEvent } from '../../store/live/events.ts';
import { traceparentIn } from '../../store/live/trace-context.ts';
import type { Attempt } from '../attempt.ts';
import type { AskPeople } from '../../tools/people/ask-people.ts';
import type { Host } from '../../system/process/host.ts';
import { type Store, isDamage } from '../../store/values/store.ts';
import type { CallSettings, NamedInput } from './prepare.ts';
import type { ToolRegistry } from '../../tools/registry.ts';
import { type AbortCause, Superseded, ToolFailure, type ToolContext } from '../../tools/tool.ts';
import type { SeenByTools } from '../../store/view/seen-files.ts';
import { readEntries } from '../../store/view/render-entries.ts';
import { recordChild } from './journal.ts';
import { resultHash } from '../../store/transcript/preview.ts';

/** The means that the calls of a run share. */
export type Workbench = CallSettings & {
  readonly registry: ToolRegistry;
  readonly hooks: HookRunner;
  readonly store: Store;
  /** For what concerns this machine alone. */
  readonly ofHost: Store;
  readonly session: SessionId;
  readonly host: Host;
  /** Variables for commands and other tools. */
  readonly env?: ToolEnv;
  /** L13. */
  readonly queryId: string;
  readonly depth: number;
  readonly traceparent?: string;
  readonly traced?: boolean;
  /** Absent: nothing is known of what file tools saw. */
  readonly seen?: SeenByTools;
};

/** A tool_use block of a reply. */
export type CallRequest = NamedInput & { readonly index: number; readonly toolUseId: string };

export type EarlyRun = {
  /**
   * Unique to this attempt: the call's own key needs the head of a reply that is not stored yet.
   */
  readonly id: string;
  /** Aborted with an AbortCause. */
  readonly signal: AbortSignal;
  readonly iteration: number;
  /** The model's own id of the call, for hooks. */
  readonly toolUseId?: string;
  /** The call is about to run: itself, or the check of whether it did (L40). */
  begins(): void;
  progress(text: string): void;
  say(event: LiveEvent): void;
};

export type CallRun = Omit<EarlyRun, 'id'> & {
  readonly key: CallKey;
  /**
   * As the call was judged with its reply: beside what it runs, and that it needs no claim, was
   * decided by it (L35).
   */
  readonly safe: boolean;
  /**
   * Nobody can have begun it: its reply was stored just now, by this attempt. Or it is known to
   * have no outcome yet.
   */
  readonly fresh?: boolean;
  /** Whether this attempt is still the one that counts: asked right before an effect. */
  readonly fence: Attempt['fence'];
  /**
   * An earlier attempt may have: of a call without a claim, what it left running is killed first.
   */
  readonly mayHaveBegun: boolean;
  /** Someone was asked about this call (L55). */
  readonly decision?: Decision;
  /** The workflow has carried it out (L62). */
  readonly delegated?: DelegatedEnd;
  /** As it was handed over: no hook is asked about its end. */
  readonly plain?: boolean;
  /** Absent where no call may ask it. */
  readonly small?: CallsSmallModel;
  readonly askPeople?: AskPeople;
  /** Absent where there is no server to ask. */
  readonly isOver?: Attempt['isOver'];
};

/** The small model as one call asks it (L86), and what that has cost in all attempts so far. */
export type CallsSmallModel = { readonly ask: NonNullable<ToolContext['askModel']>; spend(): Spend };

/**
 * The attempt was stopped, the run was not (L50): nothing is recorded, another attempt runs the
 * call or reports it. `tool`: it was not called, or had not come back; otherwise it has ended.
 */
export type Void = { readonly kind: 'void'; readonly cause: AbortCause; readonly tool?: 'untouched' | 'hung' };

/** Nothing has run, nothing is recorded: someone must be asked first (L55). */
export type Asked = { readonly kind: 'ask'; readonly ask: Ask };

/** Recorded as the workflow's to carry out; nothing else of it has run (L62). */
export type HandedOver = { readonly kind: 'delegate'; readonly delegation: Delegation };

// The context that a tool is given besides its input, made from the executor's facts.

type ContextParts = {
  /** The call's key; of an early call, an id of its own. */
  readonly id: string;
  /** The claim that children are to be recorded with; null when there is none (L40). */
  readonly generation: number | null;
  readonly signal: AbortSignal;
  readonly iteration: number;
  /** Absent for a call that may be dropped and made again at will. */
  readonly fence?: CallRun['fence'];
  readonly mayHaveBegun?: boolean;
  readonly small?: CallsSmallModel;
  readonly askPeople?: AskPeople;
  readonly isOver?: Attempt['isOver'];
  progress(text: string): void;
};

export function toolContext(
  bench: {
    readonly cwd: string;
    readonly folders?: readonly string[];
    readonly permissions?: PermissionRules;
    readonly dir?: string;
    readonly store: Store;
    readonly ofHost: Store;
    readonly session: SessionId;
    readonly env?: ToolEnv;
    readonly queryId: string;
    readonly depth: number;
    readonly traceparent?: string;
    readonly traced?: boolean;
    readonly seen?: SeenByTools;
  },
  parts: ContextParts,
): ToolContext {
  const { store, ofHost, session, seen } = bench;
  const { generation, small, isOver, mayHaveBegun = false } = parts;
  const head = keyHead(parts.id);
  // Where this worker sends no spans, its caller's is the nearest that there is.
  const traceparent = bench.traced ? traceparentIn(bench, parts.iteration) : bench.traceparent;
  return {
    cwd: bench.cwd,
    dir: bench.dir ?? bench.cwd,
    ...(bench.folders && { folders: bench.folders }),
    env: bench.env ?? {},
    signal: parts.signal,
    fence: async () => {
      if ((await parts.fence?.()) === false) throw new Superseded();
    },
    idempotencyKey: parts.id,
    queryId: bench.queryId,
    depth: bench.depth,
    ...(traceparent && { traceparent }),
    mayHaveBegun,
    ...(seen && { lastSeen: (path) => seen.of(session, head, path) }),
    ...(small && { askModel: small.ask }),
    ...(parts.askPeople && { askPeople: parts.askPeople }),
    session,
    ...(isOver && { sessionIsOver: () => isOver(session) }),
    progress: (text) => parts.progress(text),
    mayRead: (path) => mayReadByRules(bench, path),
    readStored: (name) => readStored({ store, session, head }, name),
    spawned: async (child) => {
      if (generation !== null) await recordChild(ofHost, { session, key: parts.id as CallKey }, child, generation);
    },
  };
}

type Place = { readonly store: Store; readonly session: SessionId; readonly head: Hash | null };

/**
 * L6, L8–L10. A damaged value is a failure the model can read; any other failure of the store is
 * not the tool's affair.
 */
async function readStored({ store, session, head }: Place, name: string): Promise<Uint8Array | null> {
  const hash = resultHash(name) as Hash | undefined;
  try {
    return hash === undefined ? await readEntries(store, session, head, name) : await store.get(hash);
  } catch (error) {
    if (!isDamage(error)) throw error;
    if (error.problem === 'missing') return null;
    throw new ToolFailure(`The stored result ${name} is damaged and cannot be read.`, { cause: error });
  }
}
