// One call on its way from request to outcome: what it shares with the calls of its run, what the
// model asked for, and this run of it. Every step of L33 gets this one object.
import { Superseded, type ToolContext, ToolFailure } from '../../tools/tool.ts';
import type { CallEnvironment, CallRequest, CallRun, EarlyRun } from './call-environment.ts';
import { type JournaledCall, recordChild } from './journal.ts';
import { prepareCall, type PreparedCall } from './prepare.ts';
import { type CallKey, type Hash, keyHead, type SessionId } from '../../workflows/contract/ids.ts';
import { isListed } from '../../tools/listed.ts';
import { mayReadByRules } from '../../tools/rules/match-rules.ts';
import { traceparentIn } from '../../store/live/trace-context.ts';
import { isDamage, type Store } from '../../store/values/store.ts';
import { readEntries } from '../../store/view/render-entries.ts';
import { resultHash } from '../../store/transcript/preview.ts';

export class ToolCall<Run extends EarlyRun = EarlyRun> {
  readonly environment: CallEnvironment;
  readonly request: CallRequest;
  readonly run: Run;
  #prepared: PreparedCall | undefined;

  constructor(environment: CallEnvironment, request: CallRequest, run: Run, prepared?: PreparedCall) {
    this.environment = environment;
    this.request = request;
    this.run = run;
    this.#prepared = prepared;
  }

  get name(): string {
    return this.request.name;
  }

  /**
   * Prepares the call with its own input, which is judged once: the answer of the tool's own rule
   * holds for this run of the call.
   */
  prepareOwn(): PreparedCall {
    const { environment, request } = this;
    this.#prepared ??= prepareCall(environment.registry, environment, request);
    return this.#prepared;
  }

  /** Prepares the call with an input that may have been put in place of its own. */
  prepareWith(input: unknown): PreparedCall {
    const { environment, request, name } = this;
    if (input === request.input) return this.prepareOwn();
    return prepareCall(environment.registry, environment, { name, input });
  }

  /** `generation` is the claim that children are recorded with; null without a claim (L40). */
  buildContext(generation: number | null = null): ToolContext {
    return buildToolContext(this.environment, { ...this.run, generation });
  }
}

/** A call that has a key: it is claimed, asked about, delegated, and recorded under that. */
export type ClaimedCall = ToolCall<CallRun & EarlyRun>;

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
    ...(environment.folders && { folders: environment.folders }),
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
