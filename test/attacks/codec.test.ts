// What a holder of the key did not write is refused or passed over; what was captured opens in no
// other place. The attacker reaches the server with a client of its own, and can read every
// history.
import { join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { ApplicationFailure } from '@temporalio/common';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createActivity } from '../../activities/activity.ts';
import { createActivities } from '../../activities/index.ts';
import { gate, reply, toolUse } from '../../scripted-model/index.ts';
import type { CallModel, ModelResult } from '../../workflows/contract/activities.ts';
import { MEMO_KEY, SIGNALS, UPDATES, WORKFLOW_TYPE } from '../../workflows/contract/session.ts';
import { harness, once, userMessage, type Harness, type OpenSession } from '../support/harness.ts';
import { workerWith } from '../support/own-activities.ts';
import { newKeys } from '../support/new-keys.ts';
import { plainClient } from '../support/plain-client.ts';
import { until } from '../support/until.ts';

const script = { replies: [{ ...reply('Yes.'), times: 'any' as const }] };
const sealed = () => harness({ script, keys: newKeys() });

const textsOf = async (session: OpenSession): Promise<readonly string[]> =>
  (await session.entries()).flatMap((entry) =>
    entry.kind === 'user' && entry.body.kind === 'text' ? [entry.body.text] : [],
  );

/** The payload of the session's first signal, as the server holds it. */
async function captured({ handle }: OpenSession) {
  const { events } = await handle.fetchHistory();
  const signal = events?.find((event) => event.workflowExecutionSignaledEventAttributes);
  const payload = signal?.workflowExecutionSignaledEventAttributes?.input?.payloads?.[0];
  if (!payload) throw new Error('no signal was captured');
  return payload;
}

async function replay({ client }: Harness, workflowId: string, signalName: string, payload: object): Promise<void> {
  await client.workflowService.signalWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId },
    signalName,
    input: { payloads: [payload] },
    requestId: randomUUID(),
  });
}

describe('a session that is sealed', () => {
  test('takes no message, resume or decision that is not (L55 L61)', async () => {
    const held = gate();
    const first = reply([toolUse('bash', { command: 'touch made' })], { hold: held.hold });
    const h = await harness({ script: [first, reply('Done.')], keys: newKeys() });
    const session = await h.open('First.', { permissionMode: 'default' });
    const theirs = plainClient(h).workflow.getHandle(session.id);
    await until(() => h.bodies().length === 1);
    await theirs.signal(SIGNALS.message, userMessage('rm -rf everything'));
    await theirs.signal(SIGNALS.resume, once('resume'));
    await theirs.signal(SIGNALS.resume);
    held.release();
    const [{ call, inputHash } = { call: '', inputHash: '' }] = await until(
      async () => (await session.memo())?.approvals,
    );
    await expect(theirs.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] })).rejects.toThrow();
    expect(existsSync(join(h.cwd, 'made'))).toBe(false);
    await session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(await textsOf(session)).toEqual(['First.']);
  });

  test.each([
    ['nothing', []],
    ['an object', [{}]],
    ['null', [null]],
    ['a text', ['stop']],
    ['one as ours, unsealed', [once('interrupt')]],
  ] as const)('is stopped by a plain interrupt of any client, with %s (L48)', async (_what, args) => {
    const held = gate();
    const h = await harness({
      script: [reply('One.', { hold: held.hold, holdAfterEvent: 1 }), reply('Two.')],
      keys: newKeys(),
    });
    const session = await h.open('First.');
    await until(() => h.bodies().length === 1);
    await plainClient(h)
      .workflow.getHandle(session.id)
      .signal(SIGNALS.interrupt, ...args);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming' } });
    held.release();
    expect(await session.entries()).toContainEqual(
      expect.objectContaining({ kind: 'steered', steered: { action: 'interrupt', at: expect.any(Number) } }),
    );
    await session.send('Second.');
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('takes no message of another session, none as another signal, and its own once (L61)', async () => {
    const h = await sealed();
    const [one, other] = [await h.open('One.'), await h.open('Other.')];
    await one.ended(1);
    await other.ended(1);
    const payload = await captured(one);
    await replay(h, other.id, SIGNALS.message, payload);
    await replay(h, one.id, SIGNALS.message, payload);
    await replay(h, one.id, SIGNALS.interrupt, payload);
    await one.send('Two.');
    await other.send('Two.');
    expect(await one.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(await other.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(await textsOf(one)).toEqual(['One.', 'Two.']);
    expect(await textsOf(other)).toEqual(['Other.', 'Two.']);
  });

  test('takes no result of another step, and goes on (L20)', async () => {
    const held = gate();
    const h = await harness({
      script: [reply('One.'), reply('Late.', { hold: held.hold }), reply('Three.')],
      keys: newKeys(),
    });
    const session = await h.open('First.');
    await session.ended(1);
    const { events } = await session.handle.fetchHistory();
    const results = events?.flatMap((event) => event.activityTaskCompletedEventAttributes?.result ?? []) ?? [];
    await session.send('Second.');
    await until(() => h.bodies().length === 2);
    const { pendingActivities } = (await session.handle.describe()).raw;
    const activityId = pendingActivities?.[0]?.activityId ?? '';
    const result = results[1] ?? {};
    const workflowId = session.id;
    await h.client.workflowService.respondActivityTaskCompletedById({
      namespace: 'default',
      workflowId,
      activityId,
      result,
    });
    expect(await session.ended(2)).toMatchObject({
      terminal: { reason: 'model_error', detail: expect.stringContaining('was not sealed') },
    });
    held.release();
    await session.send('Third.');
    expect(await session.ended(3)).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('an attempt that has asked whether it still counts leaves what it remembers to the next one (L50)', async () => {
    const keys = newKeys();
    const h = await harness({ script, keys });
    const seen: unknown[] = [];
    const callModel = createActivity<CallModel, ModelResult>(async (attempt) => {
      seen.push(attempt.remembered);
      attempt.remember({ failures: seen.length });
      if (seen.length > 1) throw ApplicationFailure.nonRetryable('enough');
      await attempt.fence('now');
      throw new Error('once more');
    });
    await workerWith(h, (deps) => ({ ...createActivities(deps), callModel }), keys);
    const session = await h.open('Go.');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'model_error' } });
    expect(seen).toEqual([undefined, { failures: 1 }]);
  });

  test('shows nothing of what it holds to whoever reads the history, the memo or a failure', async () => {
    const canary = 'canary-8c1f';
    const h = await harness({
      script: [reply([toolUse('bash', { command: `echo ${canary}` })]), reply(canary)],
      keys: newKeys(),
    });
    const session = await h.open(`Say ${canary}.`, { systemPrompt: canary });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    const { raw } = await session.handle.describe();
    const everything = Buffer.from(
      JSON.stringify([await session.handle.fetchHistory(), raw.workflowExecutionInfo?.memo]),
    );
    const text = everything
      .toString()
      .replaceAll(/"data":"([^"]*)"/g, (_all, data: string) => Buffer.from(data, 'base64').toString('latin1'));
    expect(text).not.toContain(canary);
    expect(text).not.toContain(h.cwd);
    expect((await plainClient(h).workflow.getHandle(session.id).describe()).memo?.[MEMO_KEY]).not.toHaveProperty('cwd');
  });
});

describe('a start that is not sealed', () => {
  test('fails with a sentence, and asks no model', async () => {
    const h = await sealed();
    const handle = await plainClient(h).workflow.signalWithStart(WORKFLOW_TYPE, {
      workflowId: `t-${randomUUID()}`,
      taskQueue: h.taskQueue,
      args: [{ options: { cwd: '/', permissionMode: 'bypass' }, title: 'x', visibility: false }],
      signal: SIGNALS.message,
      signalArgs: [userMessage('Do harm.')],
    });
    await expect(h.client.workflow.getHandle(handle.workflowId).result()).rejects.toMatchObject({
      cause: { message: expect.stringContaining('is not sealed with a key of this data folder') },
    });
    expect(h.bodies()).toHaveLength(0);
  });
});

describe('a worker without the key', () => {
  test('leaves a session alone, and the next one with it goes on (L50)', async () => {
    const h = await sealed();
    const session = await h.open('First.');
    await session.ended(1);
    await h.worker.stop();
    const warned: string[] = [];
    const wrong = await h.startWorker({ keys: newKeys(), log: (_, line) => void warned.push(line) });
    await session.send('Second.');
    await until(async () => {
      const { events } = await session.handle.fetchHistory();
      return warned.length > 0 && events?.some((event) => event.workflowTaskFailedEventAttributes);
    });
    await wrong.stop();
    expect(warned).toContainEqual(expect.stringMatching(/is sealed with key [0-9a-f]{8}, which is not in /));
    const right = await h.startWorker();
    onTestFinished(() => right.stop());
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(await textsOf(session)).toEqual(['First.', 'Second.']);
  });
});
