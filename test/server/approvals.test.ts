// Approvals on a real server (L55): a call that must be asked about waits in the workflow, with
// nothing running, until it is decided.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { fileStore } from '../../store/values/file-store.ts';
import { reply, toolUse, type Reply } from '../../scripted-model/index.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import {
  defaultHandover,
  QUERIES,
  UPDATES,
  type PendingApproval,
  type RunOptions,
} from '../../workflows/contract/session.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const touch = (file: string) => toolUse('bash', { command: `touch ${file}` });
const asking: Partial<RunOptions> = { permissionMode: 'default' };

async function pending(session: OpenSession, count = 1): Promise<readonly PendingApproval[]> {
  return until(async () => {
    const memo = await session.memo();
    return memo?.phase === 'waiting_approval' && memo.approvals?.length === count ? memo.approvals : null;
  });
}

async function one(session: OpenSession): Promise<PendingApproval> {
  const [first] = await pending(session);
  if (!first) throw new Error('nothing waits');
  return first;
}

const approve = (session: OpenSession, { call, inputHash }: PendingApproval, more: object = {}) =>
  session.handle.executeUpdate(UPDATES.approve, { args: [{ call, inputHash, ...more }] });

const deny = (session: OpenSession, { call }: PendingApproval, more: object = {}) =>
  session.handle.executeUpdate(UPDATES.deny, { args: [{ call, reason: 'not now', ...more }] });

const toldTo = (h: Harness, n: number): string => JSON.stringify(h.bodies()[n]?.messages.at(-1));

const playing = (...replies: readonly Reply[]) => harness({ script: [...replies, reply('Done.')] });

describe('a call that must be asked about', () => {
  test('waits with nothing running, as Temporal’s UI tells too, and runs once when it is allowed (L55 O2)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', asking);
    const approval = await one(session);
    expect(approval).toMatchObject({ tool: 'bash', index: 0, reason: expect.stringContaining('Default mode') });
    expect((await session.handle.describe()).raw.pendingActivities ?? []).toHaveLength(0);
    expect(await session.handle.query(QUERIES.view)).toMatchObject({
      phase: 'waiting_approval',
      run: 1,
      approvals: [approval],
    });
    expect(existsSync(join(h.cwd, 'made'))).toBe(false);
    const { currentDetails } = await session.handle.query<{ currentDetails: string }>('__temporal_workflow_metadata');
    expect(currentDetails).toContain('**waiting approval** · ` Go. `');
    expect(currentDetails).toContain('waits for a decision: ` bash `, call ` 1.1.0 `');
    await approve(session, approval);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(existsSync(join(h.cwd, 'made'))).toBe(true);
    expect((await session.memo())?.approvals).toBeUndefined();
    await keepHistory('an approval (L55)', session.handle);
  });

  test('a denial is an outcome that the model reads, with the reason (L55)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', asking);
    await deny(session, await one(session));
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(toldTo(h, 1)).toContain('not now');
    expect(existsSync(join(h.cwd, 'made'))).toBe(false);
  });

  test('a denial with interrupt ends the run with permission_denied (L34 L55)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', asking);
    await deny(session, await one(session), { interrupt: true });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'permission_denied' } });
    expect(h.bodies()).toHaveLength(1);
    await keepHistory('permission_denied (L34)', session.handle);
  });

  test('runs with the input that a person edited, and both hashes are recorded (L55)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', asking);
    const approval = await one(session);
    const input = JSON.stringify({ command: 'touch other' });
    const edited = await fileStore({ dir: h.storePlace }).put(Buffer.from(input));
    await approve(session, approval, { edited });
    await session.ended(1);
    expect([existsSync(join(h.cwd, 'made')), existsSync(join(h.cwd, 'other'))]).toEqual([false, true]);
    const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    expect(JSON.stringify(outcomes[0]?.log)).toContain(approval.inputHash);
    expect(outcomes[0]?.log.outcome).toBe('ok');
  });

  test('is asked about again after an edit that will not do; a right one then runs, once (L55)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', asking);
    const first = await one(session);
    const edit = async (input: object): Promise<Hash> =>
      fileStore({ dir: h.storePlace }).put(Buffer.from(JSON.stringify(input)));
    await approve(session, first, { edited: await edit({ command: 3 }) });
    const second = await until(async () => {
      const [waiting] = (await session.memo())?.approvals ?? [];
      return waiting?.reason.includes('the edited input will not do: The input of bash is not valid') ? waiting : null;
    });
    const { inputHash, deadline } = first;
    expect(second).toMatchObject({ call: `${first.call}+2`, inputHash, deadline });
    await expect(approve(session, first, {})).rejects.toThrow();
    expect((await session.handle.describe()).raw.pendingActivities ?? []).toHaveLength(0);
    const right = await edit({ command: 'echo once >> effects' });
    await approve(session, second, { edited: right });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(readFileSync(join(h.cwd, 'effects'), 'utf8')).toBe('once\n');
    expect(existsSync(join(h.cwd, 'made'))).toBe(false);
    const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    expect(outcomes.map(({ log }) => log.approved)).toEqual([{ inputHash: first.inputHash, editedHash: right }]);
    expect(toldTo(h, 1)).not.toContain('will not do');
  });

  test('an approval for another input, of an unknown call, or a second one is refused with a sentence (L55)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', asking);
    const approval = await one(session);
    const refusal = async (decision: Promise<unknown>) =>
      decision.then(
        () => 'accepted',
        (error: { cause?: Error }) => error.cause?.message ?? '',
      );
    expect(await refusal(approve(session, { ...approval, inputHash: 'f'.repeat(64) }))).toContain('another input');
    expect(await refusal(approve(session, { ...approval, call: '9.9.9' }))).toContain(
      `those that do: ${approval.call}`,
    );
    expect(await refusal(deny(session, approval, { reason: ' ' }))).toContain('needs a reason');
    await approve(session, approval);
    await session.ended(1);
    expect(await refusal(approve(session, approval))).toContain('none does');
  });

  test('nobody decides: when its time is over it counts as denied (L55)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', { ...asking, approvalTimeoutMs: 300 });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(toldTo(h, 1)).toContain('needed a decision of a person: nobody decided by');
    expect(existsSync(join(h.cwd, 'made'))).toBe(false);
  });

  test('an interrupt withdraws what waits, and a late decision is refused (L48 L55)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', asking);
    const approval = await one(session);
    await session.interrupt();
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools', by: 'interrupt' } });
    const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    expect(outcomes).toMatchObject([{ isError: true, content: expect.stringContaining('waited for approval') }]);
    await expect(approve(session, approval)).rejects.toThrow();
    await keepHistory('an interrupt of an approval (L48)', session.handle);
  });

  test('the runtime limit stands still while only a decision is waited for (L51 L55)', async () => {
    const h = await playing(reply([touch('made')]));
    const session = await h.open('Go.', { ...asking, timeoutMs: 12_000 });
    const approval = await one(session);
    const late = Date.now() + 12_100;
    await until(() => Date.now() > late);
    await approve(session, approval);
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  });

  test('several calls of one reply are asked about and decided on their own (L35 L55)', async () => {
    const h = await playing(reply([toolUse('read', { path: 'a/x' }), toolUse('read', { path: 'a/y' })]));
    mkdirSync(join(h.cwd, 'a'));
    for (const name of ['x', 'y']) writeFileSync(join(h.cwd, 'a', name), `content of ${name}`);
    const session = await h.open('Go.', { ...asking, permissions: { ask: ['read(a/**)'] } });
    const [x, y] = await pending(session, 2);
    await deny(session, x!);
    await approve(session, y!);
    await session.ended(1);
    expect(toldTo(h, 1)).toContain('content of y');
    expect(toldTo(h, 1)).not.toContain('content of x');
  });

  test('waiting survives a handover, with what is done and what waits (L4 L55)', async () => {
    const h = await harness({
      script: [reply([toolUse('read', { path: 'a.txt' }), touch('made')]), reply('Done.')],
      handover: { ...defaultHandover, signals: 3 },
    });
    writeFileSync(join(h.cwd, 'a.txt'), 'hello');
    const session = await h.open('Go.', asking);
    await one(session);
    const runOf = async () => (await session.handle.describe()).runId;
    const before = await runOf();
    await session.send('And then?');
    await session.send('And after that?');
    await until(async () => (await runOf()) !== before);
    await approve(session, await one(session));
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
    expect(existsSync(join(h.cwd, 'made'))).toBe(true);
    expect(toldTo(h, 1)).toContain('hello');
    expect(toldTo(h, 1)).toContain('And after that?');
    expect(h.model.problems).toEqual([]);
  });
});
