// When handlers after a run's end are not called, and what waits for them (L56).
import { describe, expect, onTestFinished, test } from 'vitest';
import { gate, reply } from '../../scripted-model/index.ts';
import { defaultHandover } from '../../workflows/contract/session.ts';
import { harness } from '../support/harness.ts';
import { until } from '../support/until.ts';

describe('a handler after a natural end', () => {
  test('is not told of a run that was interrupted (L47 L56)', async () => {
    const told: number[] = [];
    const afterStop = [
      { name: 'remember', timeoutMs: 10_000, run: async (ended: { run: number }) => void told.push(ended.run) },
    ];
    const held = gate();
    const h = await harness({
      script: [reply('Going on', { hold: held.hold, holdAfterEvent: 4 }), reply('Done.')],
      worker: { config: { afterStop } },
    });
    const session = await h.open('First.');
    await until(() => h.bodies().length === 1);
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming' } });
    held.release();
    await session.send('Second.');
    await session.ended(2);
    await until(() => told.length > 0);
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    expect(told).toEqual([2]);
  });

  test('is begun three times when it is cut off with its worker each time, and the session closes (L50 L56)', async () => {
    let begun = 0;
    const run = async ({ signal }: { signal: AbortSignal }) => {
      begun += 1;
      await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('cut off'))));
    };
    const h = await harness({
      script: [reply('Hi.')],
      worker: { config: { drainMs: 1, afterStop: [{ name: 'remember', timeoutMs: 60_000, run }] } },
    });
    const session = await h.open('Hi.');
    let { worker } = h;
    for (const n of [1, 2, 3]) {
      await until(() => begun === n);
      await worker.stop();
      worker = await h.startWorker();
      onTestFinished(worker.stop);
    }
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    expect(begun).toBe(3);
  });

  test('is over before the session continues as new (L4 L56)', async () => {
    const over: number[] = [];
    const hold = gate();
    const run = async (ended: { run: number }) => (await hold.hold, void over.push(ended.run));
    const h = await harness({
      script: [reply('One.'), reply('Two.')],
      worker: { config: { afterStop: [{ name: 'remember', timeoutMs: 30_000, run }] } },
      handover: { ...defaultHandover, signals: 2 },
    });
    const session = await h.open('First.');
    await session.ended(1);
    const runOf = async () => (await session.handle.describe()).runId;
    const before = await runOf();
    await session.send('Second.');
    await session.ended(2);
    // Idle and due in the same workflow task: without the handlers it would be the next run by now.
    await until(async () => (await session.memo())?.phase === 'idle');
    expect([await runOf(), over]).toEqual([before, []]);
    hold.release();
    await until(async () => (await runOf()) !== before);
    expect(new Set(over)).toEqual(new Set([1, 2]));
  });
});
