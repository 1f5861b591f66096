// A batch of which one call changes what becomes of the others: it ends the run, or a person edited
// it.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { fileStore } from '../../store/values/file-store.ts';
import { defineTool } from '../../tools/tool.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import { UPDATES, type PendingApproval } from '../../workflows/contract/session.ts';
import { harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const run = (command: string) => toolUse('bash', { command });

async function asked(session: OpenSession, count: number): Promise<readonly PendingApproval[]> {
  return until(async () => {
    const approvals = (await session.memo())?.approvals ?? [];
    return approvals.length === count ? approvals : null;
  });
}

const approve = (session: OpenSession, { call, inputHash }: PendingApproval, more: object = {}) =>
  session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash, ...more }] });

const deny = (session: OpenSession, { call }: PendingApproval) =>
  session.handle.executeUpdate(UPDATES.deny, { args: [{ call, reason: 'stop it', interrupt: true }] });

const notes = async (session: OpenSession): Promise<readonly string[]> =>
  (await session.entries()).flatMap((entry) =>
    entry.kind === 'outcomes' ? entry.outcomes.map(({ content }) => JSON.stringify(content)) : [],
  );

describe('a call that ends the run', () => {
  test('keeps the calls after it from running (L34 L55)', async () => {
    const h = await harness({ script: [reply([run('touch first'), run('touch second')])] });
    const session = await h.open('Go.', { permissionMode: 'default', permissions: { allow: ['bash(touch second)'] } });
    await deny(session, (await asked(session, 1))[0]!);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'permission_denied' } });
    expect([existsSync(join(h.cwd, 'first')), existsSync(join(h.cwd, 'second'))]).toEqual([false, false]);
    expect(await notes(session)).toEqual([
      expect.stringContaining('stop it'),
      expect.stringContaining('ended the run'),
    ]);
  });

  test('withdraws the decisions that others of its batch wait for (L34 L48 L55)', async () => {
    const h = await harness({ script: [reply([run('ls'), run('pwd')])] });
    const session = await h.open('Go.', { permissionMode: 'default', permissions: { ask: ['bash'] } });
    const [first, second] = await asked(session, 2);
    await deny(session, second!);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'permission_denied' } });
    expect(await notes(session)).toEqual([
      expect.stringContaining('waited for approval'),
      expect.stringContaining('stop it'),
    ]);
    await expect(approve(session, first!)).rejects.toThrow();
    await keepHistory('permission_denied while another call waits (L34)', session.handle);
  });
});

test('a call whose input a person edited runs when nothing runs beside it (L35 L55)', async () => {
  const held = gate();
  const log: string[] = [];
  const probe = defineTool({
    name: 'probe',
    description: 'Looks, or when it is told to, writes.',
    inputSchema: z.object({ name: z.string(), write: z.boolean().default(false) }),
    risk: ({ write }) => (write ? 'execute' : 'read'),
    recovery: 'report',
    call: async ({ name, write }) => {
      log.push(`${name} began`);
      if (!write) await held.hold;
      log.push(`${name} ended`);
      return { content: name };
    },
  });
  const calls = [toolUse('probe', { name: 'edited' }), toolUse('probe', { name: 'beside' })];
  const h = await harness({ script: [reply(calls), reply('Done.')], worker: { tools: [probe] } });
  const session = await h.open('Go.', { permissionMode: 'default', permissions: { ask: ['probe'] } });
  const [first, second] = await asked(session, 2);
  await approve(session, second!);
  await until(() => log.includes('beside began'));
  const edited = await fileStore({ dir: h.storePlace }).put(Buffer.from('{"name":"edited","write":true}'));
  await approve(session, first!, { edited });
  // What a decision leads to is scheduled by the task that answered it: nothing yet.
  expect((await session.handle.describe()).raw.pendingActivities).toHaveLength(1);
  held.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  expect(log).toEqual(['beside began', 'beside ended', 'edited began', 'edited ended']);
  await keepHistory('an edited call beside another (L55)', session.handle);
});

test('the runtime limit holds on after a call that waited for approval has failed (L36 L51 L55)', async () => {
  const held = gate();
  const h = await harness({ script: [reply([run('exit 1')]), reply('Never.', { hold: held.hold })] });
  const session = await h.open('Go.', { timeoutMs: 10_000, permissionMode: 'default' });
  await approve(session, (await asked(session, 1))[0]!);
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'timeout', limitMs: 10_000 }, turns: 2 });
  held.release();
  await keepHistory('timeout after an approval (L51)', session.handle);
});
