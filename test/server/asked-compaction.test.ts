// A compaction that somebody asks for (L10) has a run of its own, whatever else waits, on a real
// server.
import { expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const LONG = 'The secret is a teapot. '.repeat(400);
const config = { batchSummaries: false, memory: false };
const said = (body: unknown): string => JSON.stringify((body as { messages: unknown }).messages);

test('messages before it are answered, it has a run without a turn, and those after it go on with the summary (L10 L43)', async () => {
  const busy = gate();
  const h = await harness({
    script: (request) => {
      if (asksForSummary(request)) return reply('SUMMARY.');
      if (request.messages.length === 1 && said(request).includes('teapot'))
        return reply([toolUse('read', { path: 'a.txt' })], { hold: busy.hold });
      return reply('Yes.');
    },
    worker: { config },
  });
  const session = await h.open(LONG);
  await until(() => h.bodies().length === 1);
  await session.send('Before.');
  await session.send('/compact', { compact: { instructions: 'Keep the pot.' } });
  await session.send('After.');
  busy.release();
  const ends = [await session.ended(1), await session.ended(2), await session.ended(3)];
  expect(ends.map(({ terminal: { reason }, turns, messages }) => [reason, turns, messages.length])).toEqual([
    ['completed', 2, 2],
    ['completed', 0, 1],
    ['completed', 1, 1],
  ]);
  const entries = await session.entries();
  expect(entries.filter(({ kind }) => kind === 'boundary')).toMatchObject([{ trigger: 'manual', summary: 'SUMMARY.' }]);
  const [summary] = h.bodies().filter(asksForSummary);
  expect(JSON.stringify(summary)).toContain('Keep the pot.');
  const last = said(h.bodies().at(-1));
  expect(last).toContain('After.');
  expect(last).not.toContain('teapot');
  expect(last).not.toContain('/compact');
  await keepHistory('a compaction that was asked for (L10)', session.handle);
});

test('one that is interrupted, or has nothing to sum up, leaves the conversation as it was (L10 L47)', async () => {
  const held = gate();
  const h = await harness({
    script: (request) => (asksForSummary(request) ? reply('Late.', { hold: held.hold }) : reply('Yes.')),
    worker: { config },
    handover: { events: 5, signals: 5_000, iterations: 1 },
  });
  const session = await h.open('/compact', {}, { compact: {} });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 0 });
  await session.send(LONG);
  await session.ended(2);
  await session.send('/compact', { compact: {} });
  await until(() => h.bodies().some(asksForSummary));
  await session.interrupt();
  expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'aborted_streaming' } });
  held.release();
  await session.send('And now?');
  await session.ended(4);
  expect(said(h.bodies().at(-1))).toContain('teapot');
  expect((await session.entries()).filter(({ kind }) => kind === 'boundary')).toEqual([]);
});

test('one with instructions that are none is passed over, and the view says why (Q2)', async () => {
  const h = await harness({ script: () => reply('Yes.'), worker: { config } });
  const session = await h.open('Hello.');
  await session.ended(1);
  await session.send('/compact', { compact: { instructions: 'x'.repeat(4_001) } });
  const view = await until(async () => {
    const seen = await session.handle.query<{ passedOver?: readonly { why: string }[] }>('view');
    return seen.passedOver ?? null;
  });
  expect(view[0]?.why).toContain('`compact` is not {} or {"instructions": "…"} of at most 4000 characters');
});
