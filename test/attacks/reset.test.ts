// A session that is taken back: reset by an operator, or by a server that lost its last moments.
// The store knows more than the history then: what happened happened, and what only ended an
// attempt does not end the next.
import { copyFileSync, existsSync, rmSync } from 'node:fs';
import proto from '@temporalio/proto';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../tools/tool.ts';
import { openDataFolder } from '../../connection/data-folder.ts';
import { findBinary } from '../../worker/embedded/find-binary.ts';
import { joinServer, type EmbeddedServer } from '../../worker/embedded/join-server.ts';
import { findRunningServer } from '../../worker/embedded/server-record.ts';
import { fault, gate, reply, toolUse } from '../../scripted-model/index.ts';
import { UPDATES, type PendingApproval, type RunOptions } from '../../workflows/contract/session.ts';
import { crashHarness } from '../support/crash-harness.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { tempDir } from '../support/temp-dir.ts';
import { until } from '../support/until.ts';

const Excluded = proto.temporal.api.enums.v1.ResetReapplyExcludeType;
const asking: Partial<RunOptions> = { permissionMode: 'default' };
const NOT_STORED = 'f'.repeat(64);

/** Takes the session back to before its first activity of this type was scheduled. */
async function resetTo({ client }: Harness, { id, handle }: OpenSession, activity: string): Promise<void> {
  const { events } = await handle.fetchHistory();
  const scheduled = events?.find((event) => {
    return event.activityTaskScheduledEventAttributes?.activityType?.name === `perdure.${activity}`;
  });
  const workflowTaskFinishEventId = scheduled?.activityTaskScheduledEventAttributes?.workflowTaskCompletedEventId;
  const { runId } = await handle.describe();
  await client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId: id, runId },
    reason: 'a test',
    requestId: crypto.randomUUID(),
    ...(workflowTaskFinishEventId ? { workflowTaskFinishEventId } : {}),
    resetReapplyExcludeTypes: [Excluded.RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL, Excluded.RESET_REAPPLY_EXCLUDE_TYPE_UPDATE],
  });
}

const asked = (session: OpenSession, call: string): Promise<PendingApproval> =>
  until(async () => (await session.memo())?.approvals?.find((pending) => pending.call === call));

/**
 * Two decisions, of which the second takes the call: its claim is one of a later step than the
 * history goes back to.
 */
async function approvedTwice(session: OpenSession): Promise<void> {
  const { call, inputHash } = await asked(session, '1.1.0');
  await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash, edited: NOT_STORED }] });
  const again = await asked(session, '1.1.0+2');
  await session.handle.executeUpdate(UPDATES.approve, { args: [{ call: again.call, inputHash }] });
}

/** Its effect is counted; it comes back when it is told to stop. */
function delivering() {
  const effects: string[] = [];
  const tool = defineTool({
    name: 'deliver',
    description: 'Delivers.',
    inputSchema: z.strictObject({}),
    risk: 'external',
    recovery: 'report',
    call: async (_, { signal, idempotencyKey }) => {
      effects.push(idempotencyKey);
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      return { content: '', stopped: true };
    },
  });
  return { tool, effects };
}

const told = (h: { bodies: Harness['bodies'] }): string => JSON.stringify(h.bodies().at(-1)?.messages.at(-1));

test('a call that was claimed by a later step than a reset goes back to is reported, and the run goes on (L40)', async () => {
  const { tool, effects } = delivering();
  const h = await harness({ script: [reply([toolUse('deliver', {})]), reply('Done.')], worker: { tools: [tool] } });
  const session = await h.open('Deliver.', asking);
  await approvedTwice(session);
  await until(() => effects.length === 1);
  await resetTo(h, session, 'runTool');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(told(h)).toContain('outcome unknown: deliver was started');
  expect(effects).toHaveLength(1);
});

test('an interrupt and a cancel get through where a reset meets such a claim (L47 L49)', async () => {
  const { tool, effects } = delivering();
  const script = [reply([toolUse('deliver', {})]), reply('x', { hold: gate().hold }), reply('Done.')];
  const h = await harness({ script, worker: { tools: [tool] } });
  const session = await h.open('Deliver.', asking);
  await approvedTwice(session);
  await until(() => effects.length === 1);
  await resetTo(h, session, 'runTool');
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { by: 'interrupt' } });
  await session.handle.cancel();
  await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  expect(effects).toHaveLength(1);
});

test('a model call that failed, or was interrupted, before a reset is made anew after it; a reply is not (L14)', async () => {
  const held = gate();
  const script = [fault({ status: 401 }), reply('x', { hold: held.hold }), reply('Done.')];
  const h = await harness({ script });
  const session = await h.open('Do it.');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'model_error' } });
  await resetTo(h, session, 'callModel');
  await until(() => h.model.requests.length === 2);
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { by: 'interrupt' } });
  await resetTo(h, session, 'callModel');
  await until(async () => (await session.memo())?.last?.terminal.reason === 'completed');
  await resetTo(h, session, 'callModel');
  const { runId } = await session.handle.describe();
  await until(async () => (await session.memo())?.last?.terminal.reason === 'completed');
  expect((await session.handle.describe()).runId).toBe(runId);
  expect(h.model.requests).toHaveLength(3);
});

test('a claim that the server’s database has forgotten with its last moments is reported as any other (L40)', async () => {
  const root = tempDir();
  const folder = openDataFolder({ PERDURE_DATA: root });
  const binary = (wanted: string | null) => findBinary({ env: process.env, wanted, say: () => {} });
  const joined = (): Promise<EmbeddedServer> =>
    joinServer({ folder, role: 'command', worker: false, env: process.env, binary, say: () => {} });
  const before = await joined();
  onTestFinished(() => before.leave());
  const command = 'echo begun >> effects.log; sleep 600';
  const { address } = before;
  const h = await crashHarness({ address, script: [reply([toolUse('bash', { command })]), reply('Done.')] });
  const killServer = (): void => void process.kill(findRunningServer(folder)?.pid ?? 0, 'SIGKILL');
  const files = ['', '-wal', '-shm'].map((end) => `${folder.temporalDb}${end}`);
  const keep = (from: string, to: string): void => {
    for (const file of files) {
      rmSync(`${file}${to}`, { force: true });
      if (existsSync(`${file}${from}`)) copyFileSync(`${file}${from}`, `${file}${to}`);
    }
  };
  const again = async (): Promise<void> => {
    const server = await joined();
    onTestFinished(() => server.leave());
    expect(server.address).toBe(address);
  };
  const first = await h.worker();
  const session = await h.open('Do it.', asking);
  await asked(session, '1.1.0');
  await first.kill();
  killServer();
  keep('', '.kept');
  await again();
  const second = await h.worker();
  await approvedTwice(session);
  await until(() => h.effects().length === 1);
  await second.kill();
  killServer();
  keep('.kept', '');
  await again();
  const third = await h.worker();
  const { call, inputHash } = await asked(session, '1.1.0');
  await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(told(h)).toContain('outcome unknown: bash was started');
  expect(h.effects()).toEqual(['begun']);
  await third.kill();
});
