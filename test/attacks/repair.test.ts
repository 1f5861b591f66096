// The newest stored step of a session is damaged: it is said, what is lost is said, and the session
// goes on.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { fileLayout } from '../../store/values/file-reads.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { createClient } from '../../client/client.ts';
import { readSession } from '../../client/sessions/read.ts';
import { describeLoss } from '../../client/sessions/repair.ts';
import { readChain } from '../../store/log/read-chain.ts';
import { type ParsedRequest, reply, type Reply, toolUse } from '../../scripted-model/index.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { fillWorkspace } from '../support/scenarios.ts';
import { LONGEST_ID, LONGEST_LOSS, UPDATES } from '../../workflows/contract/session.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { until } from '../support/until.ts';

const damages: readonly [string, (path: string) => void][] = [
  ['one flipped byte', flip],
  ['a file of garbage', (path) => writeFileSync(path, 'garbage')],
  ['a file that is gone', (path) => rmSync(path)],
];

function flip(path: string): void {
  const bytes = readFileSync(path);
  bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] ?? 0) ^ 1;
  writeFileSync(path, bytes);
}

function clientOf({ client, storePlace, taskQueue }: Harness) {
  const store = fileStore({ dir: storePlace });
  const live = async function* () {};
  return createClient({ temporal: client, store, live, visibility: () => Promise.resolve(true), taskQueue });
}

/** Two runs have ended, nothing works, and the newest step of the second is damaged. */
async function damaged(damage: (path: string) => void): Promise<{ h: Harness; session: OpenSession }> {
  const h = await harness({ script: () => reply('Noted.') });
  const session = await h.open('The first.');
  await session.ended(1);
  await session.send('The second.');
  await session.ended(2);
  const { head } = await idle(session);
  await h.worker.stop();
  damage(fileLayout(h.storePlace).blob(head!));
  return { h, session };
}

const idle = (session: OpenSession) =>
  until(async () => {
    const memo = await session.memo();
    return memo?.phase === 'idle' ? memo : null;
  });

test.each(damages)(
  '%s: runs fail and name the command; what is lost is said, and the session goes on (L20)',
  async (_, damage) => {
    const { h, session } = await damaged(damage);
    const worker = await h.startWorker();
    await session.send('The third.');
    expect((await session.ended(3)).terminal).toMatchObject({
      reason: 'model_error',
      detail: expect.stringMatching(/perdure repair/),
    });
    await idle(session);
    const sessions = clientOf(h);
    const found = await sessions.damage(session.id);
    expect(found).toMatchObject({
      kind: 'repairable',
      lost: expect.stringMatching(/^everything from entry \d+ on is lost, since .*1 message/),
    });
    expect(await sessions.repair(session.id)).toEqual(found);
    expect(await sessions.damage(session.id)).toEqual({ kind: 'whole' });
    await session.send('The fourth.');
    expect((await session.ended(4)).terminal).toEqual({ reason: 'completed' });
    const entries = await session.entries();
    expect(entries.filter((entry) => entry.kind === 'notice' && entry.notice.kind === 'repaired')).toHaveLength(1);
    const last = JSON.stringify(h.bodies().at(-1)?.messages);
    for (const words of ['The first.', 'The second.', 'was damaged', 'The fourth.']) expect(last).toContain(words);
    expect(h.model.problems).toEqual([]);
    await worker.stop();
  },
);

test('a session that is whole is left alone, and what does not fit it is refused with a sentence', async () => {
  const h = await harness({ script: () => reply('Noted.') });
  const session = await h.open('The first.');
  await session.ended(1);
  const { head } = await idle(session);
  const sessions = clientOf(h);
  expect(await sessions.repair(session.id)).toEqual({ kind: 'whole' });
  const ask = (repair: unknown) =>
    session.handle.executeUpdate(UPDATES.repair, { args: [repair] }).then(
      () => 'taken',
      (error: Error) => String(error.cause),
    );
  const other = 'a'.repeat(64);
  expect(await ask({ from: other, to: head, lost: 'x' })).toContain('has gone on meanwhile');
  expect(await ask({ from: head, to: 'nowhere', lost: 'x' })).toContain('names no head');
  expect(await ask({ from: head, to: head })).toContain('does not say what is lost');
  expect((await idle(session)).head).toBe(head);
});

test('an old step is damaged, and a boundary came after it: the session goes on, and what is newer is shown (L3 L20)', async () => {
  const { h, session, heads } = await boundedSession();
  await h.worker.stop();
  flip(fileLayout(h.storePlace).blob(heads[1] as Hash));
  await h.startWorker();
  await session.send('Once more.');
  expect((await session.ended(2)).terminal).toEqual({ reason: 'completed' });
  await idle(session);
  const sessions = clientOf(h);
  expect(await sessions.damage(session.id)).toEqual({ kind: 'whole' });
  expect(await sessions.result(session.id)).toMatchObject({ run: 2, text: 'Done.', turns: 1 });
  const store = fileStore({ dir: h.storePlace });
  const reading = await readSession({ temporal: { client: h.client }, store, sessions }, session.id);
  expect(reading.problems).toMatchObject([{ problem: expect.stringContaining(heads[1] as string) }]);
  expect(reading.first).toBeGreaterThan(0);
  expect(reading.entries.at(-1)).toMatchObject({ kind: 'run_ended', ended: { run: 2 } });
  expect(reading.runs.map(({ run }) => run)).toContain(2);
});

/** A run that was compacted has ended. `heads`: of its segments, oldest first. */
async function boundedSession(): Promise<{ h: Harness; session: OpenSession; heads: readonly Hash[] }> {
  let read = 0;
  const script = (request: ParsedRequest): Reply => {
    if (asksForSummary(request)) return reply('Files were read.');
    if (read > 90) return reply('Done.');
    read += 1;
    return reply([toolUse('read', { path: 'large.txt', offset: 1, limit: 60 })]);
  };
  const models = { 'claude-sonnet-': { window: 16_000, maxOutput: 8_000, price: null } };
  const h = await harness({ script, worker: { config: { models } } });
  fillWorkspace(h.cwd);
  const session = await h.open('Read a lot.', { maxTurns: 1_000 });
  await session.ended(1);
  const { head } = await idle(session);
  const chain = await readChain(fileStore({ dir: h.storePlace }), session.id, head as Hash);
  return { h, session, heads: chain.map(({ hash }) => hash) };
}

test('a closed session is only looked at', async () => {
  const { h, session } = await damaged(flip);
  const worker = await h.startWorker();
  await session.handle.cancel();
  await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  const sessions = clientOf(h);
  expect(await sessions.damage(session.id)).toMatchObject({ kind: 'repairable' });
  await expect(sessions.repair(session.id)).rejects.toThrow(/closed|cancelled/);
  await worker.stop();
});

test('what is lost is said in as many characters as a session takes, however long the names of messages are', () => {
  const messages = Array.from({ length: 300 }, (_, n) => `${n}`.padEnd(LONGEST_ID, 'x'));
  const lost = describeLoss({ entries: [], length: 0 }, [{ heads: [], messages }], { last: null });
  expect(lost).toContain('300 messages: 0xxx');
  expect(lost.length).toBeLessThanOrEqual(LONGEST_LOSS);
});
