// One call on its way from request to outcome: what it shares with the calls of its run, what the
// model asked for, and this run of it. Every step of L33 gets this one object.
import type { ToolContext } from '../../tools/tool.ts';
import type { CallEnvironment, CallRequest, CallRun, EarlyRun } from './call-environment.ts';
import type { JournaledCall } from './journal.ts';
import { prepareCall, type PreparedCall } from './prepare.ts';
import { buildToolContext } from './tool-context.ts';

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
