// Calls that somebody outside carries out (G53), and the waits that a transcript tells of (G37), on
// a real server: nothing runs while they wait, a result counts once, and a run that doesn't ask for
// it stores and schedules nothing more.
import { describe, expect, test } from 'vitest';
import { sandboxTools } from '../../managed/work/tools.ts';
import { reply, type Reply, toolUse } from '../../scripted-model/index.ts';
import type { Entry } from '../../store/log/entries.ts';
import { defaultHandover, type RunOptions, UPDATES } from '../../workflows/contract/session.ts';
import type { OutsideTool, SettledEntry, WaitEntry } from '../../workflows/contract/waits.ts';
import { clientOf, type Harness, harness, type HarnessOptions, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const order: OutsideTool = {
  by: 'custom',
  name: 'get_order',
  description: 'Looks up an order.',
  input_schema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
};
const waiting: Partial<RunOptions> = { recordWaits: true, outsideTools: [order], permissionMode: 'default' };

const opened = (script: readonly Reply[], more: Partial<HarnessOptions> = {}) => harness({ script, ...more });
const ask = (id: string) => toolUse('get_order', { id });
const write = toolUse('write', { path: 'a.txt', content: 'a' });

const waitsIn = (entries: readonly Entry[]) =>
  entries.flatMap((entry): readonly (WaitEntry | SettledEntry)[] =>
    entry.kind === 'wait' || entry.kind === 'settled' ? [entry] : [],
  );

async function toldEntries(h: Harness, session: OpenSession): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const { entry } of clientOf(h).transcript(session.id)) entries.push(entry);
  return entries;
}

/** Returns the entries once the session has told of this many waits and ends. */
const toldWaits = (h: Harness, session: OpenSession, count: number) =>
  until(async () => {
    const waits = waitsIn(await toldEntries(h, session));
    return waits.length >= count && waits;
  });

const give = (session: OpenSession, call: string, text: string, more: object = {}) =>
  session.handle.executeUpdate(UPDATES.giveResult, {
    args: [{ call, result: { body: { kind: 'text', text }, ...more }, by: 'app' }],
  });

const refusal = (decision: Promise<unknown>): Promise<string | undefined> =>
  decision.then(
    () => 'accepted',
    (error: { readonly cause?: Error }) => error.cause?.message,
  );

const outcomesOf = async (session: OpenSession) =>
  (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));

describe('an outside call', () => {
  test('waits with nothing running, is told of in the transcript, and ends with the result once (G37 G53)', async () => {
    const h = await opened([reply([ask('7')]), reply('It shipped.')]);
    const session = await h.open('Where is 7?', waiting);
    const [wait] = await toldWaits(h, session, 1);
    expect(wait).toMatchObject({ kind: 'wait', calls: [{ call: '1.1.0', why: 'custom' }] });
    await until(async () => (await session.memo())?.waits === 1);
    expect(await session.memo()).toMatchObject({ phase: 'parked', waits: 1 });
    expect((await session.handle.describe()).raw.pendingActivities ?? []).toHaveLength(0);
    await give(session, '1.1.0', 'shipped');
    expect(await refusal(give(session, '1.1.0', 'lost'))).toContain('no call 1.1.0 waits for a result');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    const entries = await session.entries();
    expect(waitsIn(entries)).toMatchObject([
      wait,
      { kind: 'settled', call: '1.1.0', how: 'result', by: 'app', result: { body: { text: 'shipped' } } },
    ]);
    const kinds = entries.map(({ kind }) => kind);
    expect(kinds.indexOf('settled')).toBeLessThan(kinds.indexOf('outcomes'));
    expect(await outcomesOf(session)).toMatchObject([{ isError: false, content: 'shipped', log: { outcome: 'ok' } }]);
    expect(JSON.stringify(h.bodies()[1]?.messages)).toContain('shipped');
    expect(await session.memo()).not.toHaveProperty('waits');
    await keepHistory('an outside call that waits and gets its result (G37 G53)', session.handle);
  });

  test('runs beside the others of its reply: what waits together is told together (G37 G53)', async () => {
    const h = await opened([reply([ask('7'), write, ask('8')]), reply('Done.')]);
    const session = await h.open('Both.', waiting);
    const [wait] = await toldWaits(h, session, 1);
    expect(wait).toMatchObject({
      calls: [
        { call: '1.1.0', why: 'custom' },
        { call: '1.1.1', why: 'ask' },
        { call: '1.1.2', why: 'custom' },
      ],
    });
    await give(session, '1.1.2', 'eight');
    await clientOf(h).deny(session.id, '1.1.1', 'no files', { by: 'ann' });
    await give(session, '1.1.0', 'not found', { isError: true });
    await session.ended(1);
    expect(waitsIn(await session.entries()).slice(1)).toMatchObject([
      { call: '1.1.2', how: 'result' },
      { call: '1.1.1', how: 'deny', by: 'ann', message: 'no files' },
      { call: '1.1.0', how: 'result', result: { isError: true } },
    ]);
    const outcomes = await outcomesOf(session);
    expect(outcomes.map(({ index, isError }) => [index, isError])).toEqual([
      [0, true],
      [1, true],
      [2, false],
    ]);
    await keepHistory('an outside call beside an approval, settled one by one (G37 G39)', session.handle);
  });

  test('with an input that its schema refuses is never told of, and the model reads why (G53)', async () => {
    const h = await opened([reply([toolUse('get_order', { id: 7 })]), reply('Sorry.')]);
    const session = await h.open('Where?', waiting);
    await session.ended(1);
    expect(waitsIn(await session.entries())).toEqual([]);
    expect(await outcomesOf(session)).toMatchObject([{ isError: true }]);
    const judged = (await session.entries()).flatMap((entry) =>
      entry.kind === 'reply' && entry.judged ? [entry.judged] : [],
    );
    expect(judged).toEqual([{ 0: 'deny' }]);
  });

  test('is not cancelled by a command that fails beside it (G53 L36)', async () => {
    const h = await opened([reply([ask('7'), toolUse('bash', { command: 'exit 3' })]), reply('Done.')], {
      worker: { config: { snapshots: false, sandbox: { unconfined: true } } },
    });
    const session = await h.open('Both.', { ...waiting, permissions: { allow: ['bash'] } });
    await toldWaits(h, session, 1);
    await give(session, '1.1.0', 'shipped');
    await session.ended(1);
    expect(await outcomesOf(session)).toMatchObject([
      { index: 0, content: 'shipped', isError: false },
      { index: 1, isError: true },
    ]);
  });

  test('that an interrupt ends has an error result, and the interrupt is stored before it (L48)', async () => {
    const h = await opened([reply([ask('7'), write]), reply('Never.')]);
    const session = await h.open('Where is 7?', waiting);
    await toldWaits(h, session, 1);
    await clientOf(h).interrupt(session.id, { by: 'ann' });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
    const entries = await session.entries();
    const kinds = entries.map(({ kind }) => kind);
    expect(kinds.indexOf('steered')).toBeLessThan(kinds.indexOf('outcomes'));
    expect((await outcomesOf(session)).map(({ isError }) => isError)).toEqual([true, true]);
    expect(await refusal(give(session, '1.1.0', 'late'))).toContain('no call 1.1.0 waits');
    await keepHistory('an outside call that an interrupt ends (G37 L48)', session.handle);
  });

  describe('of a sandbox that an interrupt ends', () => {
    const interrupted = async () => {
      const h = await opened([reply([toolUse('bash', { command: 'make' })]), reply('Never.')]);
      const session = await h.open('Go.', {
        ...waiting,
        environment: 'env_1',
        outsideTools: sandboxTools(['bash']),
        permissions: { allow: ['bash'] },
      });
      await toldWaits(h, session, 1);
      await clientOf(h).interrupt(session.id, { by: 'ann' });
      return { h, session };
    };
    const kindsOf = async (session: OpenSession) =>
      (await session.entries())
        .map(({ kind }) => kind)
        .filter((kind) => ['wait', 'steered', 'settled', 'outcomes', 'run_ended'].includes(kind));

    test('has ten seconds for its result, and may go on there without one, as the model reads (G96)', async () => {
      const { session } = await interrupted();
      expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
      const told = expect.stringContaining('outcome unknown: interrupted, and the sandbox may go on with it') as string;
      expect(await outcomesOf(session)).toMatchObject([{ index: 0, isError: true, content: told }]);
      const ended = ['wait', 'steered', 'settled', 'outcomes', 'run_ended'];
      expect(await kindsOf(session)).toEqual(ended);
      await keepHistory('a sandbox call that an interrupt ends without its result (G96)', session.handle);
    });

    test('has the result that comes within that time, after the interrupt is stored (G96)', async () => {
      const { h, session } = await interrupted();
      await until(async () => (await toldEntries(h, session)).some(({ kind }) => kind === 'steered'));
      await give(session, '1.1.0', 'made');
      await session.ended(1);
      expect(await outcomesOf(session)).toMatchObject([{ content: 'made', isError: false }]);
      expect((await kindsOf(session)).slice(0, 2)).toEqual(['wait', 'steered']);
      await keepHistory('a sandbox call whose result comes after an interrupt (G96)', session.handle);
    });

    test('ends at once where the session is closed meanwhile (G96 L49)', async () => {
      const { h, session } = await interrupted();
      await until(async () => (await toldEntries(h, session)).some(({ kind }) => kind === 'steered'));
      await clientOf(h).cancel(session.id, { by: 'ann' });
      await session.ended(1);
      expect((await kindsOf(session)).filter((kind) => kind === 'settled')).toHaveLength(1);
    });
  });

  test('notes for people that workers are silent, while a call waits for them alone (G78)', async () => {
    const h = await opened([reply([toolUse('bash', { command: 'make' })]), reply('Done.')]);
    const session = await h.open('Go.', {
      ...waiting,
      environment: 'env_1',
      outsideTools: sandboxTools(['bash']),
      permissions: { allow: ['bash'] },
    });
    await toldWaits(h, session, 1);
    const report = (work: string, updateId = work) =>
      session.handle.executeUpdate(UPDATES.reportWorkers, { args: [{ work, items: 5 }], updateId });
    for (const _ of [1, 2]) await report('work_1');
    expect(await refusal(report('w'.repeat(300), 'long'))).toContain('names no item of work');
    await give(session, '1.1.0', 'made');
    await session.ended(1);
    expect(await refusal(report('work_2'))).toContain('no call waits for a sandbox');
    const notices = (await session.entries()).flatMap((entry) => (entry.kind === 'notice' ? [entry.notice] : []));
    expect(notices).toMatchObject([{ kind: 'workers_silent', work: 'work_1', items: 5 }]);
    expect(JSON.stringify(h.bodies())).not.toContain('heartbeat');
    await keepHistory('a sandbox whose workers are silent (G78)', session.handle);
  });

  test('is carried over a handover with the waits that are told, and told once (G37 L4)', async () => {
    const h = await opened([reply([ask('7'), write]), reply('Done.')], {
      handover: { ...defaultHandover, events: 10 },
    });
    const session = await h.open('Where is 7?', waiting);
    const { runId } = await session.handle.describe();
    await toldWaits(h, session, 1);
    await until(async () => (await session.handle.describe()).runId !== runId);
    expect(await toldWaits(h, session, 1)).toHaveLength(1);
    await give(session, '1.1.0', 'shipped');
    await until(async () => (await session.memo())?.waits === 1);
    const { approvals = [] } = (await session.memo()) ?? {};
    await clientOf(h).approve(session.id, approvals[0]?.call ?? '');
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(waitsIn(await session.entries()).map((entry) => entry.kind)).toEqual(['wait', 'settled', 'settled']);
    expect(await outcomesOf(session)).toMatchObject([{ content: 'shipped' }, { isError: false }]);
    await keepHistory('an outside call over a handover (G37 L4)', session.handle);
  });

  test('takes a result that is a text or a medium of the store, and nothing else (G53)', async () => {
    const h = await opened([reply([ask('7')]), reply('Done.')]);
    const session = await h.open('Where is 7?', waiting);
    await toldWaits(h, session, 1);
    const send = (arg: unknown) => refusal(session.handle.executeUpdate(UPDATES.giveResult, { args: [arg] }));
    const body = { kind: 'text', text: 'x' };
    expect(await send(undefined)).toContain('names no call');
    expect(await send({ call: '1.1.0' })).toContain('has no body');
    expect(await send({ call: '1.1.0', result: { body, isError: 1 } })).toContain('"isError"');
    expect(await send({ call: '1.1.0', result: { body }, by: '' })).toContain('the name of who gives');
    const long = { kind: 'text', text: 'x'.repeat(5_000) };
    expect(await send({ call: '1.1.0', result: { body: long } })).toContain('give at most 4096');
    expect(await send({ call: '1.1.1', result: { body } })).toContain('no call 1.1.1 waits');
    expect(await send({ call: '1.1.0', result: { body } })).toBe('accepted');
    await session.ended(1);
  });
});

test('a run that does not ask for it stores no waits, and its replies are as ever (G37)', async () => {
  const h = await opened([reply([write]), reply('Done.')]);
  const session = await h.open('Write.', { permissionMode: 'default' });
  const call = await until(async () => (await session.memo())?.approvals?.[0]?.call);
  await clientOf(h).approve(session.id, call);
  await session.ended(1);
  const entries = await session.entries();
  expect(waitsIn(entries)).toEqual([]);
  expect(entries.filter((entry) => entry.kind === 'reply' && entry.judged)).toEqual([]);
});

test('a call that the memo does not list is decided all the same (L55)', async () => {
  const fetches = Array.from({ length: 22 }, (_, n) => toolUse('web_fetch', { url: `http://127.0.0.1:9/${n}` }));
  const h = await opened([reply(fetches), reply('Done.')]);
  const session = await h.open('Fetch.', waiting);
  const [wait] = await toldWaits(h, session, 1);
  expect(wait).toHaveProperty('calls.length', 22);
  for (let n = 21; n >= 0; n -= 1) await clientOf(h).deny(session.id, `1.1.${n}`, 'no');
  await session.ended(1);
  expect(await outcomesOf(session)).toHaveLength(22);
});
