// Reads the options that a session's next run would open with, from its history.
import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { withChanges } from '../../workflows/contract/options-problem.ts';
import { type OptionChanges, type RunOptions, SIGNALS, UPDATES } from '../../workflows/contract/session.ts';
import { unwrapRequest } from '../../workflows/contract/steered.ts';
import { sealingContextOf } from './newest-head.ts';

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
