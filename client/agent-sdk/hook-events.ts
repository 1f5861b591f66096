// Tells a program of its own hooks as they run: `hook_started` and `hook_response`, for those that
// are called and no others.
import { randomUUID } from 'node:crypto';
import { reasonOf } from '../../system/text.ts';
import { CallOrder } from './call-order.ts';
import type { HookJSONOutput } from './shapes/hook-answers.ts';
import type { SDKHookResponseMessage, SDKHookStartedMessage } from './shapes/system-messages.ts';

type Facts<Message> = Omit<Message, 'uuid' | 'session_id'>;

export type HookNews = Facts<SDKHookStartedMessage> | Facts<SDKHookResponseMessage>;

/** Joins the hooks, which run beside the conversation, with what the program is told of it. */
export type HookRelay = {
  readonly order: CallOrder;
  /** Set by the conversation of a program that is told of its hooks. */
  onNews: (news: HookNews) => void;
};

export function createHookRelay(): HookRelay {
  return { order: new CallOrder(), onNews: () => undefined };
}

/** Calls a hook between the news that it starts and what it came to. Throws what it throws. */
export async function tellHook(
  relay: Pick<HookRelay, 'onNews'>,
  { name, event }: { readonly name: string; readonly event: string },
  run: () => Promise<HookJSONOutput>,
): Promise<HookJSONOutput> {
  const facts = { hook_id: randomUUID(), hook_name: name, hook_event: event };
  const respond = (output: string, outcome: 'success' | 'error'): void =>
    relay.onNews({ type: 'system', subtype: 'hook_response', ...facts, output, stdout: '', stderr: '', outcome });
  relay.onNews({ type: 'system', subtype: 'hook_started', ...facts });
  try {
    const output = await run();
    respond(JSON.stringify(output), 'success');
    return output;
  } catch (error) {
    respond(reasonOf(error), 'error');
    throw error;
  }
}
