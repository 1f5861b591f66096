// The newest head of a session, read from the events of its history, newest first.
import { expect, test } from 'vitest';
import type { Client } from '@temporalio/client';
import { defaultDataConverter, defaultPayloadConverter } from '@temporalio/common';
import { hashOf } from '../../store/values/store.ts';
import { headOf } from '../../client/sessions/newest-head.ts';
import { session } from './support.ts';

const hash = (text: string) => hashOf(Buffer.from(text));
const payloads = (value: unknown) => ({ payloads: [defaultPayloadConverter.toPayload(value)] });
const scheduled = (input: unknown) => ({ activityTaskScheduledEventAttributes: { input: payloads(input) } });
const completed = (result: unknown) => ({
  activityTaskCompletedEventAttributes: { result: payloads({ done: result }) },
});
const started = (input: unknown) => ({ workflowExecutionStartedEventAttributes: { input: payloads(input) } });
const signaled = {
  workflowExecutionSignaledEventAttributes: { input: payloads({ id: 'm', head: hash('not a head') }) },
};

/** Each page is newest first, as the server gives them. */
function server(...pages: readonly unknown[][]): Client {
  const getWorkflowExecutionHistoryReverse = ({ nextPageToken }: { nextPageToken?: Uint8Array }) => {
    const page = nextPageToken?.[0] ?? 0;
    const next = page + 1 < pages.length ? new Uint8Array([page + 1]) : new Uint8Array();
    return Promise.resolve({ history: { events: pages[page] }, nextPageToken: next });
  };
  return {
    options: { namespace: 'default', loadedDataConverter: defaultDataConverter },
    workflowService: { getWorkflowExecutionHistoryReverse },
  } as unknown as Client;
}

test.each([
  ['the last reply', [completed({ kind: 'message', head: hash('b') }), scheduled({ head: hash('a') })], hash('b')],
  [
    'what a running call was given',
    [scheduled({ head: hash('a'), step: 2 }), completed({ head: hash('x') })],
    hash('a'),
  ],
  [
    'the head that was taken, when a cut reply was left',
    [scheduled({ head: hash('a') }), completed({ kind: 'cut_off', head: hash('b') })],
    hash('a'),
  ],
  ['nothing, before anything is stored', [scheduled({ head: null }), started({ title: 'x' })], null],
  ['nothing, before a worker has come', [signaled, started({ title: 'x' })], null],
  [
    'a run taken up after a handover',
    [signaled, started({ carry: { head: hash('a'), run: { state: { head: hash('b') } } } })],
    hash('b'),
  ],
  ['an idle session taken up after a handover', [started({ carry: { head: hash('a'), run: null } })], hash('a')],
])('finds %s', async (_what, events, head) => {
  expect(await headOf(server(events), session)).toBe(head);
});

test('passes over activities that know no head, signals and whole pages of them', async () => {
  const nothing = [signaled, scheduled({ chain: 'c', run: 1 }), completed({ error: true }), completed(undefined)];
  expect(await headOf(server(nothing, nothing, [completed({ head: hash('a') })]), session)).toBe(hash('a'));
});
