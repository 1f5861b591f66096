// Endpoints of webhooks in a configuration (G70): what is wrong is told without secrets.
import { expect, test } from 'vitest';
import { checkConfig } from '../../worker/config/config.ts';
import { WEBHOOK_SECRET } from '../support/webhook-receiver.ts';

const endpoint = { url: 'https://h.example/x', secret: WEBHOOK_SECRET, events: ['session.status_idled'] };
const check = (webhooks: readonly unknown[]) => checkConfig({ managed: { webhooks } }, 'f');

test('endpoints are taken with their secrets and the events that they ask for (G70)', () => {
  expect(check([endpoint])).toEqual({ managed: { webhooks: [endpoint] } });
  expect(check([{ ...endpoint, url: 'http://127.0.0.1:8080/' }])).toBeDefined();
});

const address = 'it is an address that begins with https:// or http://, without user, password or fragment';
const secret = 'it begins with whsec_, and 24 to 64 bytes follow as base64';
const names = [
  'session.status_run_started',
  'session.status_idled',
  'session.requires_action',
  'session.budget_reached',
  'session.status_rescheduled',
  'session.status_terminated',
];

test.each<[string, readonly unknown[], string]>([
  ['a password in an address', [{ ...endpoint, url: 'https://u:p@h.example' }], `.0.url" is wrong: ${address}`],
  ['another scheme', [{ ...endpoint, url: 'ftp://h.example' }], `.0.url" is wrong: ${address}`],
  ['a secret without its beginning', [{ ...endpoint, secret: 'top' }], `.0.secret" is wrong: ${secret}`],
  ['a short secret', [{ ...endpoint, secret: 'whsec_dG9v' }], `.0.secret" is wrong: ${secret}`],
  ['no secret', [{ ...endpoint, secret: undefined }], `.0.secret" is wrong: ${secret}`],
  ['no events', [{ ...endpoint, events: [] }], '.0.events" is empty: give at least 1 item'],
  [
    'an event that is never sent',
    [{ ...endpoint, events: ['agent.created'] }],
    `.0.events.0" is "agent.created": give one of ${names.join(', ')}`,
  ],
  ['an address twice', [endpoint, endpoint], '" is wrong: an address is in it twice'],
])('%s is told in one sentence, without the secret (G70)', (_, webhooks, told) => {
  expect(() => check(webhooks)).toThrow(`f: "managed.webhooks${told}`);
});
