// Webhooks (G70): hands what a session tells to the sender of each endpoint that asks for it, and
// sends one event to one endpoint, signed by Standard Webhooks. The configuration alone says where
// to, so private addresses are taken.
import { createHash, createHmac } from 'node:crypto';
import { ApplicationFailure, ApplicationFailureCategory } from '@temporalio/common';
import type { BetaWebhookEvent } from '@anthropic-ai/sdk/resources/beta/webhooks';
import { whyFetchFailed } from '../../system/network.ts';
import {
  SEND_SIGNAL,
  SENDER_TYPE,
  senderId,
  type SenderInput,
  type SendWebhook,
  type TellWebhooks,
} from '../../workflows/contract/webhooks.ts';
import { type Attempt, forAnotherWorker } from '../attempt.ts';
import type { Deps, WebhookEndpoint } from '../deps.ts';

/** Milliseconds for an endpoint's answer. */
const ANSWER_MS = 30_000;

/** A worker waits for so many endpoints at once, so that slow ones leave it slots for sessions. */
const MOST_AT_ONCE = 20;

/** The status of an endpoint that is closed for good. */
const GONE = 410;

const PREFIX = 'whsec_';

const makeId = (parts: readonly unknown[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

/** An endpoint keeps its id when its secret changes. */
export const endpointId = ({ url }: Pick<WebhookEndpoint, 'url'>): string => makeId([url]);

/** An endpoint has a sender for each session, from its first event to its last. */
export function tellWebhooks({ webhooks }: Deps): (attempt: Attempt, input: TellWebhooks) => Promise<void> {
  return async ({ session, temporal }, { events, queue }) => {
    if (!temporal) throw new Error('there is no server to hand webhooks to');
    for (const endpoint of webhooks?.endpoints ?? []) {
      const news = events.filter(({ type }) => endpoint.events.includes(type));
      if (news.length === 0) continue;
      const input: SenderInput = { session, endpoint: endpointId(endpoint) };
      await temporal.workflow.signalWithStart(SENDER_TYPE, {
        workflowId: senderId(input),
        taskQueue: queue,
        args: [input],
        signal: SEND_SIGNAL,
        signalArgs: [news],
      });
    }
  };
}

/** Throws for another attempt until the endpoint has answered with 2xx; 410 ends the attempts. */
export function sendWebhook(deps: Deps): (attempt: Attempt, input: SendWebhook) => Promise<void> {
  let sending = 0;
  return async (attempt, input) => {
    const endpoint = deps.webhooks?.endpoints.find((one) => endpointId(one) === input.endpoint);
    if (!endpoint) throw notSent('this worker has no endpoint at the address that the event is for');
    if (sending >= MOST_AT_ONCE) throw forAnotherWorker('Busy', `this worker sends ${sending} webhooks already`, true);
    sending += 1;
    try {
      const problem = await postEvent(deps, attempt, endpoint, input);
      if (problem === null) return;
      const message = `a webhook to ${new URL(endpoint.url).origin} was not taken: ${problem}`;
      deps.log('warn', message, { session: input.session, attempt: attempt.number });
      throw notSent(message, problem === `status ${GONE}`);
    } finally {
      sending -= 1;
    }
  };
}

function notSent(message: string, nonRetryable = false): ApplicationFailure {
  const category = ApplicationFailureCategory.BENIGN;
  return ApplicationFailure.create({ type: 'WebhookNotSent', message, nonRetryable, category });
}

/** Returns why it was not taken; null when it was. Redirects are not followed. */
async function postEvent(
  { webhooks, now, redact }: Deps,
  { signal }: Attempt,
  { url, secret }: WebhookEndpoint,
  input: SendWebhook,
): Promise<string | null> {
  const event = eventOf(input);
  const body = JSON.stringify(event);
  const seconds = Math.floor(now() / 1_000);
  const headers = {
    'content-type': 'application/json',
    'webhook-id': event.id,
    'webhook-timestamp': String(seconds),
    'webhook-signature': makeSignature(secret, `${event.id}.${seconds}.${body}`),
  };
  try {
    const answer = await (webhooks?.fetch ?? fetch)(url, {
      method: 'POST',
      redirect: 'manual',
      headers,
      body,
      signal: AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)]),
    });
    await answer.body?.cancel();
    return answer.ok ? null : `status ${answer.status}`;
  } catch (error) {
    return redact(whyFetchFailed(error));
  }
}

/** The SDK's `unwrap` returns it. Every attempt has the same id. */
export function eventOf({ session, endpoint, event: { type, at, count } }: SendWebhook): BetaWebhookEvent {
  return {
    type: 'event',
    id: `wevt_${makeId([session, type, at, count, endpoint])}`,
    created_at: new Date(at).toISOString(),
    data: { type, id: session, organization_id: 'default', workspace_id: 'default' },
  };
}

function makeSignature(secret: string, text: string): string {
  const key = Buffer.from(secret.slice(PREFIX.length), 'base64');
  return `v1,${createHmac('sha256', key).update(text).digest('base64')}`;
}
