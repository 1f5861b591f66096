// Webhooks as workers pass them on and send them (G70): the worker that opens a run says who is
// told, whatever the others are configured with.
import type { Client } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import { openRun } from '../../../activities/run/open-run.ts';
import { endpointId, sendWebhook, tellWebhooks } from '../../../activities/run/webhooks.ts';
import { senderId, type WebhookEvent } from '../../../workflows/contract/webhooks.ts';
import { markUndecodable } from '../../../workflows/contract/undecodable.ts';
import { sendWebhooks } from '../../../workflows/told/send-webhooks.ts';
import { thrown } from '../../support/thrown.ts';
import { benchDeps, fakeAttempt, SESSION } from '../../support/bench-deps.ts';
import { tempDir } from '../../support/temp-dir.ts';

const url = 'https://hooks.example.com/agents';
const idled: WebhookEvent = { type: 'session.status_idled', at: 1, count: 1 };

test('a worker without the endpoints of the one that opened the run passes events on to them (G70)', async () => {
  const { deps } = await benchDeps({ script: [] });
  const endpoints = [{ url, secret: 'whsec_', events: [idled.type] }];
  const input = { chain: 'c', run: 1, step: 1, options: { cwd: tempDir(), recordWaits: true as const } };
  const opened = await openRun({ ...deps, webhooks: { endpoints, fetch } })(fakeAttempt(), input);
  const started: unknown[] = [];
  const signalWithStart = (_type: string, { workflowId }: { readonly workflowId: string }) => started.push(workflowId);
  const temporal = { workflow: { signalWithStart } } as unknown as Client;
  const tell = tellWebhooks(deps);
  const news = { events: [idled], queue: 'q', step: 2, endpoints: opened.endpoints ?? [] };
  await tell({ ...fakeAttempt(), temporal }, news);
  expect(started).toEqual([senderId({ session: SESSION, endpoint: endpointId({ url }) })]);
});

test('a sender whose argument another worker can read waits for that worker (G70)', async () => {
  const argument = markUndecodable({ why: 'is sealed with a key that is not here', elsewhere: true });
  const sending = sendWebhooks(argument as never);
  await expect(sending).rejects.toThrow('a key that is not here');
  await expect(sending).rejects.not.toBeInstanceOf(ApplicationFailure);
});

test('events that wait for endpoints without an answer ask a busy worker ever more seldom (G70)', async () => {
  const { deps } = await benchDeps({ script: [] });
  const endpoints = [{ url, secret: 'whsec_', events: [idled.type] }];
  const silent = () => new Promise<Response>(() => undefined);
  const send = sendWebhook({ ...deps, webhooks: { endpoints, fetch: silent } });
  const input = { session: SESSION, endpoint: endpointId({ url }), event: idled };
  for (let sent = 0; sent < 20; sent += 1) void send(fakeAttempt(), input);
  expect(await thrown(send(fakeAttempt(), input))).toMatchObject({ type: 'Busy', nextRetryDelay: '500ms' });
  const late = await thrown(send({ ...fakeAttempt(), number: 21 }, input));
  expect([late.type, late.nextRetryDelay]).toEqual(['WebhookNotSent', undefined]);
});
