// Megabytes of waiting messages. Not in the uncached tier: there each task fetches and replays all
// of them again.
import { expect, onTestFinished, test } from 'vitest';
import { reply, toolUse, type Reply } from '../../scripted-model/index.ts';
import { UPDATES, type Phase } from '../../workflows/contract/session.ts';
import { update } from '../../client/sessions/updates/update.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { until } from '../support/until.ts';

test('takes more messages than one payload holds, each once and in order (L4 L43 L61)', async () => {
  const h = await harness({
    script: {
      replies: [reply([toolUse('glob', { pattern: '*' })]), { ...reply('Seen.'), times: 'any' }],
    },
    handover: { events: 100, signals: 5_000 },
    workflowTask: '1 minute',
  });
  // With no worker alive they all wait together.
  await h.worker.stop();
  const session = await h.open('0');
  const texts = Array.from({ length: 320 }, (_, n) => `${n + 1} ${'x'.repeat(8_000)}`);
  for (const each of texts) await session.send(each);
  const worker = await h.startWorker();
  onTestFinished(() => worker.stop());
  expect(await taken(session)).toEqual(['0', ...texts]);
});

const waits: readonly (readonly [Phase, Reply, (session: OpenSession, h: Harness) => Promise<unknown>])[] = [
  ['waiting_approval', reply([toolUse('bash', { command: 'touch made' })]), approve],
  ['parked', { fault: { status: 429, retryAfter: 3_600 } }, (session) => session.resume()],
];

test.each(waits)('takes thousands that arrive together while it is %s (L4 L14 L55 L61)', async (phase, first, goOn) => {
  const script = { replies: [first, { ...reply('Seen.'), times: 'any' as const }] };
  const h = await harness({ script, workflowTask: '1 minute' });
  const session = await h.open('0', { permissionMode: 'default' });
  await until(async () => (await session.memo())?.phase === phase);
  // The next worker gets all of them in one task, after all that was before.
  await h.worker.stop();
  await h.client.withDeadline(Date.now() + SENDING_MS, async () => {
    await Promise.all(Array.from({ length: BURST }, (_, n) => session.send(String(n))));
  });
  const arrived = await signalled(h, session);
  expect(arrived).toHaveLength(BURST);
  const worker = await h.startWorker();
  onTestFinished(() => worker.stop());
  await goOn(session, h);
  expect(await taken(session)).toEqual(['0', ...arrived]);
});

/**
 * In one task they take the SDK more than a second, of a busy machine many; a handover would be
 * due, and cannot carry them.
 */
const BURST = 3_000;
/** A server beside other work takes longer than a request's usual ten seconds. */
const SENDING_MS = 180_000;

async function approve(session: OpenSession, { client: temporal, taskQueue }: Harness): Promise<void> {
  const [asked] = (await session.memo())?.approvals ?? [];
  const arg = { call: asked?.call, inputHash: asked?.inputHash };
  const workers = () => Promise.resolve({ taskQueue, configuration: null });
  await update({ temporal, session: session.id, name: UPDATES.approve, arg, workers });
}

/** Texts of the messages that wait, in the order of the history. */
async function signalled({ client }: Harness, session: OpenSession): Promise<readonly string[]> {
  const { payloadConverter } = client.options.loadedDataConverter;
  const { events } = await session.handle.fetchHistory();
  const messages = (events ?? []).flatMap(
    ({ workflowExecutionSignaledEventAttributes: sent }) => sent?.input?.payloads ?? [],
  );
  // The first opened the session.
  return messages
    .slice(1)
    .map((payload) => payloadConverter.fromPayload<{ body: { text: string } }>(payload).body.text);
}

/** What its user said, once nothing waits any more. */
async function taken(session: OpenSession): Promise<readonly string[]> {
  await until(async () => (await session.memo())?.phase === 'idle');
  const entries = await session.entries();
  return entries.flatMap((entry) => (entry.kind === 'user' && entry.body.kind === 'text' ? [entry.body.text] : []));
}
