// A stop from outside where nothing streams and no tool runs (L47, L49): during a compaction, a
// stop hook, a parking, an approval.
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../tools/tool.ts';
import type { PerdureConfig } from '../../worker/config/config.ts';
import { gate, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { UPDATES } from '../../workflows/contract/session.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness, type OpenSession } from '../support/harness.ts';
import { fillWorkspace } from '../support/scenarios.ts';
import { until } from '../support/until.ts';

const look = reply([toolUse('read', { path: 'large.txt' })]);
const noticesOf = async (session: OpenSession) =>
  (await session.entries()).flatMap((entry) => (entry.kind === 'notice' ? [entry.notice.kind] : []));

/** A session in the middle of its first compaction, which ends only with the test. */
async function compacting() {
  const hold = gate();
  const script = (request: ParsedRequest): Reply => {
    if (asksForSummary(request)) return reply('They were read.', { hold: hold.hold });
    return JSON.stringify(request.messages).includes('Go on.') ? reply('Back.') : look;
  };
  const config: PerdureConfig = {
    models: { 'claude-sonnet-': { window: 30_000, maxOutput: 8_000, price: null } },
    compaction: { collapse: false },
  };
  const h = await harness({ script, worker: { config } });
  fillWorkspace(h.cwd);
  const session = await h.open('Read them.');
  await until(() => h.bodies().some(asksForSummary));
  return { h, session, hold };
}

describe('an interrupt', () => {
  test('of a compaction discards it whole, and the session takes the next prompt (L47)', async () => {
    const { h, session, hold } = await compacting();
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    const entries = await session.entries();
    expect(entries.some(({ kind }) => kind === 'boundary')).toBe(false);
    expect(await noticesOf(session)).toContain('interrupted');
    hold.release();
    await session.send('Go on.');
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(h.model.problems).toEqual([]);
  });

  test('of a stop hook ends the run, and what the hook would say is not waited for (L47)', async () => {
    const asked = gate();
    const stop = async (_input: unknown, { signal }: { readonly signal: AbortSignal }) => {
      asked.release();
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return { block: 'Not yet.' };
    };
    const h = await harness({
      script: [reply('Done.'), reply('Never asked.')],
      worker: { config: { hooks: { stop: [stop] } } },
    });
    const session = await h.open('Go.');
    await asked.hold;
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    expect(h.bodies()).toHaveLength(1);
    expect(await noticesOf(session)).toEqual(['interrupted']);
  });

  test('of a call that began with its reply and was given up says so, not that it was not run (L37 L48)', async () => {
    const [asked, answer] = [gate(), gate()];
    const own = { description: 'Its own.', inputSchema: z.strictObject({}), risk: 'read' } as const;
    const glance = defineTool({
      ...own,
      name: 'glance',
      recovery: 'rerun',
      call: async (_, { signal }) => {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
        return { content: 'too late' };
      },
    });
    // It is looked at once the reply is stored, and before the next batch begins.
    const report = defineTool({
      ...own,
      name: 'report',
      validate: async () => (asked.release(), await answer.hold, undefined),
      workflow: { type: 'loudly', taskQueue: 'none' },
    });
    const script = [reply([toolUse('glance', {}), toolUse('report', {})]), reply('Never asked.')];
    const h = await harness({ script, worker: { tools: [glance, report] } });
    const session = await h.open('Glance, and report.');
    await asked.hold;
    await session.interrupt();
    answer.release();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools', by: 'interrupt' } });
    const [outcome] = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    expect(outcome).toMatchObject({
      content: 'Given up: it was stopped after it had started, and what came of it is not known.',
      log: { name: 'glance', decision: 'allowed', outcome: 'cancelled' },
    });
    expect(h.bodies()).toHaveLength(1);
  });

  test('of a parked run ends it at once (L47)', async () => {
    const h = await harness({ script: { replies: [{ fault: { status: 429, retryAfter: 3_600 } }] } });
    const session = await h.open('Go.');
    await until(async () => (await session.memo())?.phase === 'parked');
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
  });
});

describe('a cancel', () => {
  test('of a compaction closes the session with its transcript complete (L49)', async () => {
    const { session, hold } = await compacting();
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    hold.release();
    const entries = await session.entries();
    expect(entries.some(({ kind }) => kind === 'boundary')).toBe(false);
    expect(entries.at(-3)).toMatchObject({ kind: 'run_ended', ended: { terminal: { by: 'cancel' } } });
    expect(entries.at(-1)).toMatchObject({ kind: 'session_closed', notTaken: [] });
  });

  test('of a session that waits for a decision answers the call and closes it (L49 L55)', async () => {
    const h = await harness({ script: [reply([toolUse('bash', { command: 'touch made' })])] });
    const session = await h.open('Go.', { permissionMode: 'default' });
    const [asked] = await until(async () => (await session.memo())?.approvals ?? null);
    await session.handle.cancel();
    await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
    const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    expect(outcomes).toMatchObject([{ isError: true, content: expect.stringContaining('waited for approval') }]);
    const { call, inputHash } = asked ?? {};
    await expect(session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] })).rejects.toThrow();
  });
});
