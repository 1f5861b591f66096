// Builds the context that a tool is given with its input from the executor's facts.
import type { ToolEnv } from '../../workflows/contract/tool-env.ts';
import { type CallKey, type SessionId, type Hash, keyHead } from '../../workflows/contract/ids.ts';
import type { PermissionRules } from '../../workflows/contract/session.ts';
import { mayReadByRules } from '../../tools/rules/match-rules.ts';
import { traceparentIn } from '../../store/live/trace-context.ts';
import type { Attempt } from '../attempt.ts';
import type { AskPeople } from '../../tools/people/ask-people.ts';
import { type Store, isDamage } from '../../store/values/store.ts';
import { Superseded, ToolFailure, type ToolContext } from '../../tools/tool.ts';
import type { SeenByTools } from '../../store/view/seen-files.ts';
import { readEntries } from '../../store/view/render-entries.ts';
import { recordChild } from './journal.ts';
import { resultHash } from '../../store/transcript/preview.ts';
import type { CallRun, SmallModelOfCall } from './call-environment.ts';

type ContextParts = {
  /** The call's key, or an early call's own id. */
  readonly id: string;
  /** The claim that children are recorded with; null for a call without one (L40). */
  readonly generation: number | null;
  readonly signal: AbortSignal;
  readonly iteration: number;
  /** Absent for a call that may be dropped and made again at will. */
  readonly fence?: CallRun['fence'];
  readonly mayHaveBegun?: boolean;
  readonly small?: SmallModelOfCall;
  readonly askPeople?: AskPeople;
  readonly isOver?: Attempt['isOver'];
  progress(text: string): void;
};

export function buildToolContext(
  environment: {
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
  const { store, ofHost, session, seen } = environment;
  const { generation, small, isOver, mayHaveBegun = false } = parts;
  const head = keyHead(parts.id);
  // Where this worker sends no spans, its caller's span is the nearest one.
  const traceparent = environment.traced ? traceparentIn(environment, parts.iteration) : environment.traceparent;
  return {
    cwd: environment.cwd,
    dir: environment.dir ?? environment.cwd,
    ...(environment.folders && { folders: environment.folders }),
    env: environment.env ?? {},
    signal: parts.signal,
    fence: async () => {
      if ((await parts.fence?.()) === false) throw new Superseded();
    },
    idempotencyKey: parts.id,
    queryId: environment.queryId,
    depth: environment.depth,
    ...(traceparent && { traceparent }),
    mayHaveBegun,
    ...(seen && { lastSeen: (path) => seen.of(session, head, path) }),
    ...(small && { askModel: small.ask }),
    ...(parts.askPeople && { askPeople: parts.askPeople }),
    session,
    ...(isOver && { sessionIsOver: () => isOver(session) }),
    progress: (text) => parts.progress(text),
    mayRead: (path) => mayReadByRules(environment, path),
    readStored: (name) => readStored({ store, session, head }, name),
    spawned: async (child) => {
      if (generation !== null) await recordChild(ofHost, { session, key: parts.id as CallKey }, child, generation);
    },
  };
}

type Place = { readonly store: Store; readonly session: SessionId; readonly head: Hash | null };

/**
 * Reads a stored result or a summarised stretch (L6, L8–L10). Throws ToolFailure when the value is
 * damaged, which the model can read; any other failure of the store is thrown as it is.
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
