// Who did what to a session, where the words for it come at its end or around a handover (O12).
import { expect, test } from 'vitest';
import { gate, reply } from '../../scripted-model/index.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';
import { clientOf, harness, once, type OpenSession } from '../support/harness.ts';
import { until } from '../support/until.ts';

async function steeredIn(session: OpenSession) {
  await until(async () => (await session.memo())?.phase === 'closed');
  return (await session.entries()).flatMap((entry) => (entry.kind === 'steered' ? [entry.steered] : []));
}

test('a cancel keeps its name where the session continues as new between its name and itself (L4 O12)', async () => {
  const h = await harness({ script: [reply('Done.')], handover: { events: 10_000, signals: 1 } });
  const session = await h.open('Look.');
  await session.ended(1);
  const { raw } = await session.handle.describe();
  const runNow = async (): Promise<string> => (await session.handle.describe()).runId;
  // The message was a signal, too.
  const second = await until(async () => {
    const run = await runNow();
    return run === raw.workflowExecutionInfo?.firstRunId ? null : run;
  });
  await session.handle.signal(SIGNALS.cancel, { ...once('cancel'), by: 'dee' });
  await until(async () => (await runNow()) !== second);
  await session.handle.cancel();
  expect(await steeredIn(session)).toEqual([{ action: 'cancel', by: 'dee', at: expect.any(Number) }]);
});

test('a session that closes takes no options any more, which nobody would be told of, and says so (O12 Q10)', async () => {
  const held = gate();
  const afterStop = [{ name: 'slow', timeoutMs: 60_000, run: () => held.hold }];
  const h = await harness({ script: [reply('Done.')], worker: { config: { afterStop } } });
  const sessions = clientOf(h);
  const session = await h.open('Look.');
  await session.ended(1);
  await sessions.cancel(session.id, { by: 'dee' });
  // It has stored its end, and waits for what it began.
  await until(async () => {
    const { events = [] } = await session.handle.fetchHistory();
    const at = events?.findIndex((event) => event.workflowExecutionCancelRequestedEventAttributes) ?? -1;
    return at >= 0 && events?.slice(at).some((event) => event.activityTaskCompletedEventAttributes);
  });
  await expect(sessions.setOptions(session.id, { model: 'm' })).rejects.toThrow(
    'the session is closing: nothing runs in it any more',
  );
  held.release();
  expect(await steeredIn(session)).toEqual([{ action: 'cancel', by: 'dee', at: expect.any(Number) }]);
});
