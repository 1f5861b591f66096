import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../tools/tool.ts';
import { gate, reply, text, toolUse } from '../../scripted-model/index.ts';
import { harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { processesOf } from '../support/processes.ts';
import { until } from '../support/until.ts';

describe('an interrupt while the reply streams', () => {
  test('keeps the partial text, leaves a notice, and the session takes the next prompt (L47 L16)', async () => {
    const held = gate();
    const h = await harness({
      script: [
        reply([text('I was saying'), toolUse('read', {})], { hold: held.hold, holdAfterEvent: 4 }),
        reply('Back.'),
      ],
    });
    const session = await h.open('Talk.');
    await until(() => h.liveText(session.id).includes('I was saying'));
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    held.release();
    await session.send('Go on.');
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' }, turns: 1 });
    await keepHistory('aborted_streaming and the next prompt (L47)', session.handle);
    expect(h.bodies()[1]?.messages).toMatchObject([
      { role: 'user' },
      { role: 'assistant', content: [{ type: 'text', text: 'I was saying' }] },
      { role: 'user', content: [{ text: 'The run was interrupted here.' }, { text: 'Go on.' }] },
    ]);
  });

  test('a message sent with `now` interrupts for itself and leaves no notice (L47)', async () => {
    const held = gate();
    const h = await harness({ script: [reply('Slowly', { hold: held.hold, holdAfterEvent: 4 }), reply('Quickly.')] });
    const session = await h.open('Talk.');
    await until(() => h.liveText(session.id).includes('Slowly'));
    await session.send('Something else.', { now: true });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'message' } });
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    held.release();
    expect(JSON.stringify(h.bodies()[1])).not.toContain('interrupted');
    await keepHistory('aborted_streaming for a newer message (L47)', session.handle);
  });

  test('during the wait before a retry it ends the run at once (L47)', async () => {
    const slow = { maxRetries: 10, firstMs: 600_000, maxMs: 600_000, parkOverMs: 1e9 };
    const h = await harness({
      script: { replies: [{ fault: { status: 500 } }] },
      worker: { defaults: { backoff: slow } },
    });
    const session = await h.open('Talk.');
    await until(() => h.liveText(session.id).includes('"type":"retry"'));
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming' } });
    await keepHistory('aborted_streaming during a back-off (L47)', session.handle);
  });
});

describe('an interrupt while tools run', () => {
  test('kills the whole process tree, says what may have partly run, and answers every call (L48)', async () => {
    const h = await harness({
      script: [
        reply([
          // Longer than this test may take: they end by the interrupt alone.
          toolUse('bash', { command: 'touch begun; (trap "" TERM; sleep 3000) & setsid sleep 3000 & wait' }),
          toolUse('bash', { command: 'touch never' }),
        ]),
        reply('I see.'),
      ],
    });
    const session = await h.open('Do it.');
    await until(() => existsSync(join(h.cwd, 'begun')));
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools', by: 'interrupt' } });
    expect(processesOf(h.cwd)).toEqual([]);
    await session.send('And?');
    await session.ended(2);
    expect(h.bodies()[1]?.messages[2]).toMatchObject({
      content: [
        { type: 'tool_result', content: expect.stringContaining('may have partly run') },
        { type: 'tool_result', content: expect.stringContaining('Not run') },
        { text: 'The run was interrupted here.' },
        { text: 'And?' },
      ],
    });
    expect(existsSync(join(h.cwd, 'never'))).toBe(false);
    await keepHistory('aborted_tools (L48)', session.handle);
  });
});

describe('cancelling the session', () => {
  test('ends what runs, closes the session as Cancelled, and records what was not taken (L49 L61)', async () => {
    const h = await harness({ script: [reply([toolUse('bash', { command: 'touch begun; sleep 300' })])] });
    const session = await h.open('Do it.');
    await until(() => existsSync(join(h.cwd, 'begun')));
    await session.send('And then?');
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    expect(await session.memo()).toMatchObject({
      phase: 'closed',
      last: { terminal: { reason: 'aborted_tools', by: 'cancel' } },
    });
    expect(processesOf(h.cwd)).toEqual([]);
    const closed = (await session.entries()).at(-1);
    expect(closed).toMatchObject({ kind: 'session_closed', notTaken: [expect.any(String)] });
    await keepHistory('a cancel while tools run (L49)', session.handle);
  });

  test('closes an idle session (L49)', async () => {
    const h = await harness({ script: [reply('Hello.')] });
    const session = await h.open('Hi.');
    await session.ended(1);
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    expect((await session.entries()).at(-1)).toMatchObject({ kind: 'session_closed', notTaken: [] });
  });
});

describe('the runtime limit', () => {
  test('ends the run with timeout, whatever it is doing (L51)', async () => {
    const h = await harness({ script: [reply([toolUse('bash', { command: 'sleep 300' })])] });
    const session = await h.open('Do it.', { timeoutMs: 1_000 });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'timeout', limitMs: 1_000 } });
    expect(processesOf(h.cwd)).toEqual([]);
    await keepHistory('timeout (L51)', session.handle);
  });

  test('what is kept of it is enough to sum up, when that is wanted (L51)', async () => {
    const held = gate();
    const wait = defineTool({
      name: 'linger',
      description: 'Waits.',
      inputSchema: z.object({}),
      risk: () => 'read',
      recovery: 'rerun',
      call: async () => (await held.hold, { content: 'waited' }),
    });
    const h = await harness({
      script: [reply([toolUse('linger', {})]), reply('Half of it is done.')],
      worker: { tools: [wait] },
    });
    const session = await h.open('Do it.', { timeoutMs: 20_000, wrapUp: true });
    const begun = await until(async () => {
      const { events } = await session.handle.fetchHistory();
      return events?.find((event) => event.timerStartedEventAttributes)?.eventTime ?? null;
    });
    // The last two seconds are kept.
    await until(() => Date.now() > Number(begun.seconds) * 1_000 + (begun.nanos ?? 0) / 1e6 + 18_100);
    held.release();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'timeout', limitMs: 20_000 }, turns: 1 });
    expect(h.bodies()).toHaveLength(2);
    expect((await session.entries()).findLast(({ kind }) => kind === 'reply')).toMatchObject({ fate: 'whole' });
  });

  test('stands still while the run is parked, and parking can be ended early (L51 L14)', async () => {
    const h = await harness({ script: { replies: [{ fault: { status: 429, retryAfter: 3_600 } }, reply('Rested.')] } });
    const session = await h.open('Do it.', { timeoutMs: 12_000 });
    await until(async () => (await session.memo())?.phase === 'parked');
    // Parked for longer than the limit allows to run.
    await until(() => Date.now() - h.requestedAt(0) > 12_500);
    await session.resume();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    await keepHistory('parked and resumed (L14)', session.handle);
  });
});
