// Builds the carried state of a session that begins with a transcript: an imported one, or a fork.
// A handover between two runs carries the same, so every version of the workflow can continue it.
// Reads the options that a session's next run would open with, from its history.
import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { Hash, SessionId } from '../../workflows/contract/ids.ts';
import { withChanges } from '../../workflows/contract/options-problem.ts';
import {
  type OptionChanges,
  type RunOptions,
  type RunSummary,
  SIGNALS,
  UPDATES,
  type UserMessage,
} from '../../workflows/contract/session.ts';
import { unwrapRequest } from '../../workflows/contract/steered.ts';
import { sealingContextOf } from './newest-head.ts';

export type CarryAt = {
  readonly head: Hash;
  readonly runs: number;
  readonly last: RunSummary | null;
  readonly options: RunOptions;
  readonly contextTokens?: number;
  /** The messages that wait. */
  readonly queue?: readonly UserMessage[];
};

/**
 * Keys of calls and steps begin anew: their records belong to another session, or are elsewhere.
 */
export function carryAt({ head, runs, last, options, contextTokens = 0, queue = [] }: CarryAt) {
  return {
    chain: randomUUID() as string,
    step: 0,
    head,
    options,
    runs,
    begun: false,
    inbox: { queue, seen: queue.map(({ id }) => id as string) },
    last,
    context: { contextTokens, staged: [] },
    snips: [],
    run: null,
  };
}

/**
 * Returns the options that the newest workflow run began with, plus what messages and people have
 * changed since.
 */
export async function optionsOf(client: Client, session: SessionId): Promise<RunOptions> {
  const { events } = await client.workflow.getHandle(session).fetchHistory();
  const context = sealingContextOf(client, session, null);
  let options: RunOptions | undefined;
  for (const event of events ?? []) {
    const started = event.workflowExecutionStartedEventAttributes;
    const signaled = event.workflowExecutionSignaledEventAttributes;
    const updated = event.workflowExecutionUpdateAcceptedEventAttributes?.acceptedRequest?.input;
    const isMessage = signaled?.signalName === SIGNALS.message;
    const payloads =
      started?.input ?? (isMessage ? signaled.input : updated?.name === UPDATES.setOptions && updated.args);
    if (!payloads) continue;
    const [decoded] = await decodeArrayFromPayloads(client.options.loadedDataConverter, payloads.payloads, context);
    const input = decoded as
      { readonly options?: unknown; readonly carry?: { readonly options?: RunOptions } } | undefined;
    if (started) options = input?.carry?.options ?? (input?.options as RunOptions);
    else if (options) {
      const changes = isMessage ? input?.options : unwrapRequest<unknown>(input);
      options = withChanges(options, (changes ?? {}) as OptionChanges);
    }
  }
  return options ?? { cwd: '/' };
}
