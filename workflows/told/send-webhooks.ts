// Sends to one endpoint what one session tells it (G70), one event after the other: the next goes
// when this one was taken, or after three days. The session does not wait for it, and it ends when
// nothing is left.
import {
  ActivityFailure,
  ApplicationFailure,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  log,
  proxyActivities,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { activityType, type RegisteredActivities } from '../contract/activities.ts';
import { isWebhookEvent, SEND_SIGNAL, type SenderInput, type WebhookEvent } from '../contract/webhooks.ts';

/** Milliseconds from an event until it is given up. */
const KEPT_MS = 3 * 24 * 60 * 60 * 1_000;

/** Events that wait for an endpoint; the oldest are given up. */
const MOST_WAITING = 2_000;

const retry = { initialInterval: '5s', backoffCoefficient: 2, maximumInterval: '120s' } as const;

export async function sendWebhooks(argument: SenderInput): Promise<void> {
  const input = parseInput(argument);
  let waiting: readonly WebhookEvent[] = (input.waiting ?? []).filter(isWebhookEvent);
  setHandler(defineSignal<[unknown]>(SEND_SIGNAL), (sent) => {
    const events = Array.isArray(sent) ? sent.filter(isWebhookEvent) : [];
    const all = [...waiting, ...events.filter((event) => !waiting.some((one) => isEqual(one, event)))];
    if (all.length > MOST_WAITING) log.warn('events for a webhook were given up: too many wait');
    waiting = all.slice(-MOST_WAITING);
  });
  await condition(() => waiting.length > 0);
  const isFull = condition(() => workflowInfo().continueAsNewSuggested);
  for (let [event] = waiting; event; [event] = waiting) {
    await Promise.race([sendOne(input, event), isFull]);
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof sendWebhooks>({ ...input, waiting });
    const sent = event;
    waiting = waiting.filter((one) => !isEqual(one, sent));
  }
}

const isEqual = (one: WebhookEvent, other: WebhookEvent): boolean => one.count === other.count && one.at === other.at;

/** An event that its endpoint does not take in time is left out. */
async function sendOne({ session, endpoint }: SenderInput, event: WebhookEvent): Promise<void> {
  const leftMs = event.at + KEPT_MS - Date.now();
  if (leftMs <= 0) return log.warn('an event for a webhook was given up: it waited for three days', { event });
  const { [activityType('sendWebhook')]: send } = proxyActivities<RegisteredActivities>({
    startToCloseTimeout: '1 minute',
    heartbeatTimeout: '15s',
    scheduleToCloseTimeout: leftMs,
    retry,
  });
  try {
    await send({ session, endpoint, event });
  } catch (error) {
    if (!(error instanceof ActivityFailure) || isCancellation(error)) throw error;
    log.warn(`an event for a webhook was given up: ${error.cause?.message ?? error.message}`, { event });
  }
}

/** Anyone who reaches the server can start it with anything. */
function parseInput(argument: unknown): SenderInput {
  const { session, endpoint, waiting = [] } = (argument ?? {}) as Readonly<Record<string, unknown>>;
  const isReadable = typeof session === 'string' && typeof endpoint === 'string' && Array.isArray(waiting);
  if (isReadable) return argument as SenderInput;
  throw ApplicationFailure.nonRetryable('the argument names no session and endpoint', 'UnreadableSender');
}
