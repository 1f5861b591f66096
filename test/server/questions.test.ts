// Questions of the model on a real server (L81): each waits in the workflow, with nothing running,
// until it is answered.
import { expect, test } from 'vitest';
import { chooseAnswer } from '../../cli/approving/pick-decision.ts';
import { stepReader } from '../../client/sessions/history/steps.ts';
import { reply, toolUse, type Reply } from '../../scripted-model/index.ts';
import { defaultHandover, UPDATES, type PendingApproval } from '../../workflows/contract/session.ts';
import { clientOf, harness, type Harness, type HarnessOptions, type OpenSession } from '../support/harness.ts';
import { eventsOfCall } from '../support/events-of-call.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const ask = (input: object) => toolUse('ask_user', { question: 'Which colour?', ...input });

const asking = (given: Reply, more: Partial<HarnessOptions> = {}) =>
  harness({ script: [given, reply('Done.')], ...more });

async function questionOf(session: OpenSession): Promise<PendingApproval> {
  return until(async () => {
    const memo = await session.memo();
    const [first] = memo?.approvals ?? [];
    return memo?.phase === 'waiting_approval' && first?.question ? first : null;
  });
}

const told = (h: Harness): string => JSON.stringify(h.bodies()[1]?.messages.at(-1));

async function refusalOf(decision: Promise<unknown>): Promise<string> {
  return decision.then(
    () => 'accepted',
    (error: { readonly message: string }) => error.message,
  );
}

test('a question waits with nothing running, is listed with its options, and the model reads the answer (L55 L81)', async () => {
  const h = await asking(reply([ask({ options: ['red', 'green'] })]));
  const session = await h.open('Paint.');
  const sessions = clientOf(h);
  const { call } = await questionOf(session);
  expect((await session.handle.describe()).raw.pendingActivities ?? []).toHaveLength(0);
  const input = { question: 'Which colour?', options: ['red', 'green'] };
  expect(await sessions.approvals(session.id)).toMatchObject([{ call, tool: 'ask_user', question: {}, input }]);
  await sessions.answer(session.id, call, 'green', { by: 'ann' });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
  expect(told(h)).toContain('The user answered: green');
  expect((await session.memo())?.answered).toMatchObject([{ call, by: 'ann' }]);
  // With timer, update, and what lists show, from the task after its reply to the one after its
  // outcome.
  expect(await eventsOfCall(session.handle)).toBeLessThanOrEqual(9);
  await keepHistory('a question whose end goes into the next step (L81)', session.handle);
});

test('an option with blanks around it is answered by its number, or without them (L81)', async () => {
  const h = await asking(reply([ask({ options: ['red ', ' green'] })]));
  const session = await h.open('Paint.');
  const sessions = clientOf(h);
  const { call } = await questionOf(session);
  const [waiting] = await sessions.approvals(session.id);
  expect(['1', 'red', 'red '].map((given) => chooseAnswer(waiting?.input, given))).toEqual(['red', 'red', 'red']);
  await sessions.answer(session.id, call, chooseAnswer(waiting?.input, '2'));
  await session.ended(1);
  expect(told(h)).toContain('The user answered: green');
});

test('an answer is kept when the run ends with it, and when a hook looks at it first (L41 L45 L81)', async () => {
  const seen: unknown[] = [];
  const h = await asking(reply([ask({})]), { worker: { hooks: { postTool: [(call) => void seen.push(call)] } } });
  const plain = await asking(reply([ask({})]));
  for (const [place, options] of [
    [h, {}],
    [plain, { maxTurns: 1 }],
  ] as const) {
    const session = await place.open('Paint.', options);
    const { call } = await questionOf(session);
    await clientOf(place).answer(session.id, call, 'green');
    await session.ended(1);
    const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
    expect(outcomes).toMatchObject([{ isError: false, content: 'The user answered: green' }]);
  }
  expect(seen).toMatchObject([{ tool: 'ask_user', content: 'The user answered: green' }]);
});

test('long answers of one reply travel one by one: together they would be too much for a server (L61 L81)', async () => {
  const h = await asking(reply([ask({}), ask({}), ask({})]));
  const session = await h.open('Paint.');
  const body = { kind: 'text', text: '\u0001'.repeat(64 * 1024) };
  const answered: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const { call } = await until(async () => {
      const question = await questionOf(session);
      return answered.includes(question.call) ? null : question;
    });
    await session.handle.executeUpdate(UPDATES.answer, { args: [{ call, body, by: 'ann' }] });
    answered.push(call);
  }
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 2 });
});

test('a long answer does not travel with the next step, but is recorded before (L81)', async () => {
  const h = await asking(reply([ask({})]));
  const session = await h.open('Paint.');
  const { call } = await questionOf(session);
  const body = { kind: 'text', text: 'x'.repeat(5_000) };
  await session.handle.executeUpdate(UPDATES.answer, { args: [{ call, body, by: 'ann' }] });
  await session.ended(1);
  const names = (await stepReader(h.client)(session.id, 0, null)).map(({ name }) => name);
  expect(names).toEqual(['openRun', 'callModel', 'runTool', 'callModel', 'commit']);
  expect(told(h)).toContain('x'.repeat(5_000));
});

test('an answer that is not offered, that answers nothing, or is too large is refused with a sentence (L81)', async () => {
  const h = await asking(reply([ask({ options: ['red', 'green'] }), ask({})]));
  const session = await h.open('Paint.');
  const sessions = clientOf(h);
  const { call, inputHash } = await questionOf(session);
  const answer = (given: string, text: string) => refusalOf(sessions.answer(session.id, given, text));
  expect(await answer(call, 'blue')).toContain('none of those offered: "red", "green"');
  expect(await answer('9.9.9', 'red')).toContain('no call 9.9.9');
  expect(await answer(call, ' ')).toContain('the answer is empty');
  expect(await answer(call, 'x'.repeat(1024 * 1024))).toContain('1048576 bytes: give at most 100000');
  expect(await refusalOf(sessions.approve(session.id, call))).toContain('is a question');
  const bare = await session.handle
    .executeUpdate(UPDATES.approve, { args: [{ call, inputHash }] })
    .catch((error: { readonly cause?: Error }) => error.cause?.message);
  expect(bare).toContain('is a question: answer it');
  await sessions.answer(session.id, call, 'red');
  const second = await until(async () => (await questionOf(session)).call !== call && (await questionOf(session)));
  const long = `\u001b[31m${'blue '.repeat(10_000)}`;
  await sessions.answer(session.id, second.call, long);
  await session.ended(1);
  expect(told(h)).toContain('blue blue');
});

test('of two people who answer at once one counts, and the other is told who was first (L81)', async () => {
  const h = await asking(reply([ask({})]));
  const session = await h.open('Paint.');
  const [one, two] = [clientOf(h), clientOf(h)];
  const { call } = await questionOf(session);
  const said = await Promise.all([
    refusalOf(one.answer(session.id, call, 'red', { by: 'ann' })),
    refusalOf(two.answer(session.id, call, 'green', { by: 'bob' })),
  ]);
  const first = said[0] === 'accepted' ? 'ann' : 'bob';
  expect(said).toContain('accepted');
  expect(said.find((each) => each !== 'accepted')).toContain(`by ${first}`);
  await session.ended(1);
  expect(told(h)).toContain(`answered: ${first === 'ann' ? 'red' : 'green'}`);
  expect(await refusalOf(two.answer(session.id, call, 'green'))).toContain(`was answered by ${first}`);
});

test('no answer by the deadline is an outcome that says so, and a person may decline to answer (L81)', async () => {
  const soon = new Date(Date.now() + 15_000).toISOString();
  const script = [reply([ask({ deadline: soon })]), reply([ask({ deadline: soon })]), reply([ask({})]), reply('Done.')];
  const h = await harness({ script });
  const session = await h.open('Paint.');
  await questionOf(session);
  const third = await until(async () => {
    const question = await questionOf(session);
    return question.call === '1.3.0' ? question : null;
  });
  await clientOf(h).deny(session.id, third.call, 'I do not know');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' }, turns: 4 });
  const outcomes = (await session.entries()).flatMap((entry) => (entry.kind === 'outcomes' ? entry.outcomes : []));
  expect(outcomes.map(({ content, isError }) => [isError, content])).toEqual([
    [false, expect.stringContaining('Nobody answered in time.')],
    [true, expect.stringContaining('has passed')],
    [true, expect.stringContaining('I do not know')],
  ]);
});

test('a question is carried over a handover, with who answered before it; an interrupt withdraws one (L4 L48 L81)', async () => {
  const h = await harness({
    script: [reply([ask({})]), reply([ask({})]), reply('Never.')],
    handover: { ...defaultHandover, signals: 3 },
  });
  const session = await h.open('Paint.');
  const sessions = clientOf(h);
  const first = await questionOf(session);
  await sessions.answer(session.id, first.call, 'red', { by: 'ann' });
  const second = await until(async () => {
    const question = await questionOf(session);
    return question.call === first.call ? null : question;
  });
  const { runId } = await session.handle.describe();
  for (const text of ['And then?', 'And after that?', 'And?']) await session.send(text);
  await until(async () => (await session.handle.describe()).runId !== runId);
  expect(await questionOf(session)).toMatchObject({ call: second.call, deadline: second.deadline });
  expect((await session.memo())?.answered).toMatchObject([{ call: first.call, by: 'ann' }]);
  await session.interrupt();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_tools' } });
  expect(await refusalOf(sessions.answer(session.id, second.call, 'blue'))).toContain('no call');
});

test('in a mode that asks nobody the model cannot ask either (L55 L81)', async () => {
  const h = await asking(reply([ask({})]));
  const session = await h.open('Paint.', { permissionMode: 'dontAsk' });
  await session.ended(1);
  expect(told(h)).toContain('nobody is asked anything');
});
