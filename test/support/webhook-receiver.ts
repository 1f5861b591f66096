// Receives webhooks as a program does: the SDK's `unwrap` verifies each, and the test says what is
// answered.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Anthropic from '@anthropic-ai/sdk';
import type { BetaWebhookEvent } from '@anthropic-ai/sdk/resources/beta/webhooks';
import { onTestFinished } from 'vitest';
import { WEBHOOK_TYPES, type WebhookType } from '../../workflows/contract/webhooks.ts';

export const WEBHOOK_SECRET = `whsec_${Buffer.from('a secret of thirty-two bytes, ok').toString('base64')}`;

/** Returns a status; a promise that stays open never answers. `nth` counts requests from 0. */
type Answer = (event: BetaWebhookEvent, nth: number) => number | Promise<number>;

/** `port`: of a receiver that was away; absent: a free one. */
export async function webhookReceiver(answer: Answer = () => 204, port = 0) {
  const client = new Anthropic({ apiKey: 'none', webhookKey: WEBHOOK_SECRET });
  /** Every request that was verified, whatever was answered. */
  const requests: BetaWebhookEvent[] = [];
  /** What was answered with 2xx. */
  const taken: BetaWebhookEvent[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const event = client.beta.webhooks.unwrap(body, { headers });
    if (headers['webhook-id'] !== event.id) throw new Error('the header names another event');
    requests.push(event);
    const status = await answer(event, requests.length - 1);
    if (status < 300) taken.push(event);
    response.writeHead(status, { location: '/elsewhere' }).end();
  };
  const server = createServer((request, response) => void receive(request, response));
  await new Promise<void>((resolve) => void server.listen(port, '127.0.0.1', resolve));
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  onTestFinished(close);
  const { port: own } = server.address() as AddressInfo;
  const endpoint = (events: readonly WebhookType[] = WEBHOOK_TYPES) => ({
    url: `http://127.0.0.1:${own}/hooks`,
    secret: WEBHOOK_SECRET,
    events,
  });
  return { port: own, endpoint, requests, taken, close };
}

/** The names of events without their common beginning. */
export const typesOf = (events: readonly BetaWebhookEvent[]): readonly string[] =>
  events.map(({ data }) => data.type.replace('session.', ''));
