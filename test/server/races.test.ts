// Stops and messages that arrive when nobody expects them: before a run, between two, during a
// handover, at the very end.
import { once } from 'node:events';
import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { defaultHandover, SIGNALS } from '../../workflows/contract/session.ts';
import { harness, userMessage, type OpenSession } from '../support/harness.ts';
import { until } from '../support/until.ts';

const look = reply([toolUse('glob', { pattern: '*' })]);
const pause = reply([toolUse('bash', { command: 'touch begun; until [ -e go ]; do sleep 0.05; done' })]);

/** Ids of the workflow run that is the session now. */
const runId = async (session: OpenSession): Promise<unknown> =>
  (await session.handle.describe()).raw.workflowExecutionInfo?.execution?.runId;

const handedOver = async (session: OpenSession): Promise<void> => {
  const { raw } = await session.handle.describe();
  await until(async () => (await runId(session)) !== raw.workflowExecutionInfo?.firstRunId);
};

describe('an interrupt', () => {
  test('that arrives during a handover stops the run that was handed over (L4 L47)', async () => {
    const held = gate();
    const h = await harness({
      script: [look, reply('On and on', { hold: held.hold })],
      handover: { ...defaultHandover, iterations: 1 },
    });
    const session = await h.open('Go.');
    // The server starts the next run's first task a moment later: what comes now is delivered with
    // it.
    await handedOver(session);
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    held.release();
  });

  test('of a message that no run has taken yet ends its run at once; what is sent after it runs (L47 L61)', async () => {
    const h = await harness({ script: [reply('Second.')] });
    await h.worker.stop();
    const session = await h.open('First.');
    await session.interrupt();
    await session.send('Second.');
    const worker = await h.startWorker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming' }, messages: [{}] });
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(h.bodies()).toHaveLength(1);
    await worker.stop();
  });

  test('that arrives while the run before it is being stored ends the run of what waits (L47 L61)', async () => {
    let store = '';
    const goneAway = (): string => join(store, 'gone');
    const h = await harness({
      script: [reply('One.'), reply('Two.')],
      // Without the folder it writes in, the store cannot take the end of the run.
      worker: {
        hooks: { stop: [() => (renameSync(join(store, 'tmp'), goneAway()), writeFileSync(join(store, 'tmp'), ''))] },
      },
    });
    store = h.storePlace;
    const session = await h.open('First.');
    await until(async () => {
      const { pendingActivities } = (await session.handle.describe()).raw;
      return pendingActivities?.some(({ activityType }) => activityType?.name === 'perdure.commit');
    });
    await session.send('Second.');
    await session.interrupt();
    rmSync(join(store, 'tmp'));
    renameSync(goneAway(), join(store, 'tmp'));
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    expect(h.bodies()).toHaveLength(1);
  });

  test("ends a hook of the session's start, which the next run asks again (L47)", async () => {
    const asked: AbortSignal[] = [];
    const rules = async (_: unknown, { signal }: { readonly signal: AbortSignal }) => {
      asked.push(signal);
      if (asked.length === 1) await once(signal, 'abort');
      return { context: 'Be brief.' };
    };
    const h = await harness({
      script: [reply('Hello.'), reply('Again.')],
      worker: { hooks: { sessionStart: [{ name: 'rules', timeoutMs: 60_000, run: rules }] } },
    });
    const session = await h.open('First.');
    await until(() => asked.length === 1);
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    await session.send('Second.');
    await session.ended(2);
    await session.send('Third.');
    await session.ended(3);
    expect(asked).toHaveLength(2);
    for (const { system } of h.bodies()) expect(JSON.stringify(system)).toContain('Be brief.');
  });

  test('and then a cancel: what is queued is not taken (L49 L61)', async () => {
    const h = await harness({
      script: [reply([toolUse('bash', { command: 'trap "" TERM; touch begun; sleep 300' })])],
    });
    const session = await h.open('Do it.');
    await until(() => existsSync(join(h.cwd, 'begun')));
    const queued = userMessage('And then?');
    await session.handle.signal(SIGNALS.message, queued);
    await session.interrupt();
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    expect((await session.entries()).at(-1)).toEqual({ kind: 'session_closed', notTaken: [queued.id] });
    expect(await session.memo()).toMatchObject({ runs: 1, last: { terminal: { reason: 'aborted_tools' } } });
  });
});

test('a message that arrives together with a cancel is not taken (L49 L61)', async () => {
  const h = await harness({ script: [reply('Hello.')] });
  const session = await h.open('Hi.');
  await session.ended(1);
  await h.worker.stop();
  const late = userMessage('One more.');
  await session.handle.signal(SIGNALS.message, late);
  await session.handle.cancel();
  const worker = await h.startWorker();
  await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  expect((await session.entries()).at(-1)).toEqual({ kind: 'session_closed', notTaken: [late.id] });
  expect(await session.memo()).toMatchObject({ runs: 1 });
  await worker.stop();
});

describe('a session that is never left alone', () => {
  test('is handed over between two runs, although a message always waits (L4)', async () => {
    const h = await harness({
      script: { replies: [{ ...reply('Yes.'), times: 'any' }] },
      handover: { events: 40, signals: 5_000 },
    });
    await h.worker.stop();
    const session = await h.open('0');
    const big = 'x'.repeat(40 * 1024);
    for (let n = 1; n < 8; n += 1) await session.send(`${n} ${big}`);
    const worker = await h.startWorker();
    await handedOver(session);
    await worker.stop();
  });

  test('is handed over while it is idle, whatever signals it gets (L4)', async () => {
    const h = await harness({ script: [reply('Yes.')], handover: { events: 40, signals: 5_000 } });
    const session = await h.open('Hello.');
    await session.ended(1);
    for (let n = 0; n < 30; n += 1) await session.interrupt();
    await handedOver(session);
  });

  test('passes over signals that are no messages of ours (L61)', async () => {
    const h = await harness({ script: [reply('Hello.')] });
    await h.worker.stop();
    const session = await h.open('Hi.');
    const body = { kind: 'text', text: 'Hi.' };
    const long = { id: 'm'.repeat(201), body };
    const odd = [
      undefined,
      null,
      5,
      {},
      long,
      { id: 'm' },
      { id: 'm', body: { kind: 'stored', hash: '../x', bytes: 1 } },
    ];
    for (const each of odd) await session.handle.signal(SIGNALS.message, each);
    await session.handle.signal('nonsense', 1);
    const worker = await h.startWorker();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, messages: [expect.any(String)] });
    await worker.stop();
  });
});

describe('options that a message brings', () => {
  test('to a run that is under way hold from the next run on (L57)', async () => {
    const h = await harness({
      script: [pause, reply('Seen.'), reply('Again.')],
    });
    const session = await h.open('Go.', { model: 'claude-haiku-4-5' });
    await until(() => existsSync(join(h.cwd, 'begun')));
    await session.send('Better.', { options: { model: 'claude-opus-4-5' } });
    writeFileSync(join(h.cwd, 'go'), '');
    await session.ended(1);
    await session.send('Again.');
    await session.ended(2);
    expect(h.bodies().map((body) => body.model)).toEqual(['claude-haiku-4-5', 'claude-haiku-4-5', 'claude-opus-4-5']);
  });

  test('and that no run can open with are refused, and not kept for the next (L57)', async () => {
    const h = await harness({ script: [reply('Hello.'), reply('Back.')] });
    const session = await h.open('Hi.');
    await session.ended(1);
    await session.send('There.', { options: { cwd: '/no/such/folder' } });
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'model_error' } });
    await session.send('Odd.', { options: { cwd: 5, model: {} } as never });
    expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'model_error' } });
    await session.send('Here.');
    expect(await session.ended(4)).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('and that are too large together are refused with a sentence, and lose nothing (L4 L57)', async () => {
    const h = await harness({
      script: { replies: [pause, { ...reply('Done.'), times: 'any' }] },
      handover: { ...defaultHandover, iterations: 1 },
    });
    const session = await h.open('Go.');
    await until(() => existsSync(join(h.cwd, 'begun')));
    for (const key of ['a', 'b', 'c']) await session.send(key, { options: { [key]: 'x'.repeat(900_000) } });
    writeFileSync(join(h.cwd, 'go'), '');
    // All three came into the run; what they asked for is refused to the next.
    await session.ended(1);
    await session.send('And now?');
    await session.ended(2);
    await session.send('And then?');
    await session.ended(3);
    const ends = (await session.entries()).flatMap((entry) =>
      entry.kind === 'run_ended' ? [entry.ended.terminal] : [],
    );
    const refused = { reason: 'model_error', detail: expect.stringContaining('characters of JSON in all') };
    expect(ends).toEqual([{ reason: 'completed' }, refused, { reason: 'completed' }]);
  });
});
