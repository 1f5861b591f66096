// What runs beside the loop on a real server: summaries of batches (L42) and handlers after a
// natural end (L56).
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fault, gate, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { harness, type HarnessOptions } from '../support/harness.ts';
import { until } from '../support/until.ts';

const isSummary = ({ system }: ParsedRequest): boolean =>
  JSON.stringify(system).includes('You describe what an AI agent');
const look = reply([toolUse('read', { path: 'a.txt' })]);

async function reading(options: HarnessOptions) {
  const h = await harness(options);
  writeFileSync(join(h.cwd, 'a.txt'), 'hello');
  return h;
}

describe('the summary of a batch', () => {
  const batchSummaries = { worker: { config: { batchSummaries: true } } };

  test('is made while the next model call runs, and is shown after it (L42)', async () => {
    const summary = gate();
    let calls = 0;
    const script = async (request: ParsedRequest): Promise<Reply> => {
      if (isSummary(request)) return (summary.release(), reply('Read a.txt'));
      calls += 1;
      // The second call ends only when the summary has been asked for: they overlap.
      if (calls === 2) await summary.hold;
      return calls <= 3 ? look : reply('Done.');
    };
    const h = await reading({ script, ...batchSummaries });
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 4 });
    const notices = (await session.entries()).flatMap((entry) => (entry.kind === 'notice' ? [entry.notice] : []));
    expect(notices).toContainEqual({ kind: 'batch_summary', text: 'Read a.txt' });
    expect(JSON.stringify(h.bodies().filter((body) => !isSummary(body)))).not.toContain('Read a.txt');
  });

  test('its failure changes nothing (L42)', async () => {
    let calls = 0;
    const script = (request: ParsedRequest): Reply => {
      if (isSummary(request)) return fault({ status: 400 });
      calls += 1;
      return calls <= 2 ? look : reply('Done.');
    };
    const h = await reading({ script, ...batchSummaries });
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 3 });
  });
});

describe('a handler after a natural end', () => {
  test('runs once, holds up neither the result nor the next run, and is over before the session closes (L56)', async () => {
    const told: number[] = [];
    const hold = gate();
    const afterStop = [
      {
        name: 'remember',
        timeoutMs: 30_000,
        run: async ({ run }: { readonly run: number }) => {
          await hold.hold;
          told.push(run);
        },
      },
    ];
    const h = await reading({ script: [reply('One.'), reply('Two.')], worker: { afterStop } });
    const session = await h.open('First.');
    await session.ended(1);
    await session.send('Second.');
    await session.ended(2);
    expect(told).toEqual([]);
    await session.handle.cancel();
    await until(async () => (await session.memo())?.phase !== 'running');
    expect((await session.handle.describe()).status.name).toBe('RUNNING');
    hold.release();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    expect(new Set(told)).toEqual(new Set([1, 2]));
    expect(told).toHaveLength(2);
  });

  test('one that never ends is left behind at its timeout (L56)', async () => {
    const afterStop = [{ name: 'endless', timeoutMs: 200, run: () => new Promise<void>(() => {}) }];
    const h = await reading({ script: [reply('One.')], worker: { afterStop } });
    const session = await h.open('First.');
    await session.ended(1);
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  });
});
