// Calls that wait for a decision, as a program that runs a prompt answers them. The client is a
// fake.
import { expect, test, vi } from 'vitest';
import {
  answerApprovals,
  type ApprovalAnswer,
  type OnApproval,
  type OnQuestion,
} from '../../../client/runtime/answer-approvals.ts';
import { reasonProblem, type WaitingApproval } from '../../../client/sessions/waiting-approval.ts';
import type { PerdureClient } from '../../../client/perdure-client.ts';
import { ClientProblem } from '../../../client/problem.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import { gate } from '../../../scripted-model/index.ts';
import { until } from '../../support/until.ts';

const session = 's-1' as SessionId;
const asked: WaitingApproval = {
  session,
  call: '1.1.0',
  tool: 'bash',
  reason: 'it may change files',
  inputHash: 'h',
  head: 'head' as Hash,
  index: 0,
  deadline: 9,
  input: { command: 'rm -rf build' },
};
const approval = { type: 'approval', ...asked } as const;
const settled = { type: 'approval_settled', session, call: asked.call } as const;

function answering(onApproval: OnApproval, fails?: Error, onQuestion?: OnQuestion) {
  const decide = () => (fails ? Promise.reject(fails) : Promise.resolve(asked));
  const sessions = {
    approvals: vi.fn<PerdureClient['approvals']>(() => Promise.resolve([asked])),
    approve: vi.fn<PerdureClient['approve']>(decide),
    deny: vi.fn<PerdureClient['deny']>(decide),
    answer: vi.fn<PerdureClient['answer']>(decide),
  };
  return { sessions, answers: answerApprovals(sessions, { onApproval, onQuestion }) };
}

test('an answer allows the call, allows it with another input, or denies it and says why (L55)', async () => {
  const said: Readonly<Record<string, ApprovalAnswer>> = {
    '1.1.0': { kind: 'allow' },
    '1.1.1': { kind: 'allow', input: { command: 'ls' } },
    '1.1.2': { kind: 'deny', reason: 'no', interrupt: true },
  };
  const told: WaitingApproval[] = [];
  const { sessions, answers } = answering((waiting) => {
    told.push(waiting);
    return said[waiting.call] ?? { kind: 'allow' };
  });
  const calls = Object.keys(said);
  for (const call of calls) answers.hear({ ...approval, call });
  await until(() => sessions.deny.mock.calls.length === 1);
  expect(told).toEqual(calls.map((call) => ({ ...asked, call })));
  expect(sessions.approve.mock.calls).toMatchObject([
    [session, '1.1.0', {}],
    [session, '1.1.1', { input: { command: 'ls' } }],
  ]);
  expect(sessions.approve.mock.calls[0]?.[2]).not.toHaveProperty('input');
  expect(sessions.deny.mock.calls).toMatchObject([[session, '1.1.2', 'no', { interrupt: true }]]);
  expect(answers.failed.aborted).toBe(false);
});

test('an answer is not wanted any more once someone decided elsewhere, or the run is over (L55)', async () => {
  const held = gate();
  const signals: AbortSignal[] = [];
  const { sessions, answers } = answering(async (_waiting, { signal }) => {
    signals.push(signal);
    await held.hold;
    return { kind: 'allow' };
  });
  answers.hear(approval);
  answers.hear({ ...approval, call: '1.1.1' });
  answers.hear(settled);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
  await answers.stop();
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
  held.release();
  await new Promise(setImmediate);
  expect(sessions.approve).not.toHaveBeenCalled();
});

test('what the function throws is why it failed, and nothing is decided (L55)', async () => {
  const mine = new Error('my own');
  const { sessions, answers } = answering(() => {
    throw mine;
  });
  answers.hear(approval);
  await until(() => answers.failed.aborted);
  expect(answers.failed.reason).toBe(mine);
  expect(sessions.approve).not.toHaveBeenCalled();
  expect(sessions.deny).not.toHaveBeenCalled();
});

const refused = new ClientProblem('refused', 'the session says no');

test('an answer that is refused while the call still waits is why it failed (L55)', async () => {
  const { answers } = answering(() => ({ kind: 'allow' }), refused);
  answers.hear(approval);
  await until(() => answers.failed.aborted);
  expect(answers.failed.reason).toBe(refused);
});

test('an answer that comes after another’s is passed over (L55)', async () => {
  const { sessions, answers } = answering(() => ({ kind: 'allow' }), refused);
  const looked = new Promise<void>((resolve) => {
    sessions.approvals.mockImplementation(() => (resolve(), Promise.resolve([])));
  });
  answers.hear(approval);
  await looked;
  await new Promise(setImmediate);
  expect(answers.failed.aborted).toBe(false);
});

test('an answer that is on its way when nobody listens any more is given to its end (L55)', async () => {
  const held = gate();
  const { sessions, answers } = answering(() => ({ kind: 'allow' }));
  sessions.approve.mockImplementation(async () => {
    await held.hold;
    return asked;
  });
  answers.hear(approval);
  await until(() => sessions.approve.mock.calls.length === 1);
  const stopped = vi.fn();
  const stopping = answers.stop().then(stopped);
  await new Promise(setImmediate);
  expect(stopped).not.toHaveBeenCalled();
  held.release();
  await stopping;
});

test('an answer that fails when nobody listens any more is told of (L55)', async () => {
  const held = gate();
  const { sessions, answers } = answering(() => ({ kind: 'allow' }));
  sessions.approve.mockImplementation(() => held.hold.then(() => Promise.reject(new Error('nobody has taken it'))));
  answers.hear(approval);
  await until(() => sessions.approve.mock.calls.length === 1);
  const stopping = answers.stop();
  held.release();
  expect(await stopping).toEqual(['the decision about call 1.1.0 may not have arrived: nobody has taken it']);
  expect(answers.failed.aborted).toBe(false);
});

const comesBack = { ...approval, call: '1.1.0+2', reason: 'the edited input will not do: no command' };

test('an input of the function that will not do is not asked for again and again (L55)', async () => {
  const { sessions, answers } = answering(() => ({ kind: 'allow', input: {} }));
  answers.hear(approval);
  await until(() => sessions.approve.mock.calls.length === 1);
  answers.hear(settled);
  answers.hear(comesBack);
  await until(() => answers.failed.aborted);
  expect(answers.failed.reason).toMatchObject({
    kind: 'refused',
    message: `the input that onApproval gave call 1.1.0 (bash) was not taken: ${comesBack.reason}`,
  });
  expect(sessions.approve).toHaveBeenCalledOnce();
});

test('a question that comes back because of someone else’s input is asked (L55)', async () => {
  const { sessions, answers } = answering(() => ({ kind: 'allow', input: { command: 'ls' } }));
  sessions.approve.mockRejectedValueOnce(refused);
  sessions.approvals.mockResolvedValueOnce([]);
  answers.hear(approval);
  await until(() => sessions.approve.mock.calls.length === 1);
  answers.hear(settled);
  answers.hear(comesBack);
  await until(() => sessions.approve.mock.calls.length === 2);
  expect(sessions.approve.mock.calls[1]?.[1]).toBe('1.1.0+2');
  expect(answers.failed.aborted).toBe(false);
});

const right = "return { kind: 'allow' } or { kind: 'deny', reason: 'why' }";

test.each<[unknown, string]>([
  [undefined, `is undefined: ${right}`],
  [{ behavior: 'allow' }, `is { behavior: 'allow' }: ${right}`],
  [{ kind: 'deny' }, `is { kind: 'deny' }: ${right}`],
  [{ kind: 'deny', reason: ' ' }, `will not do: ${reasonProblem(' ') ?? ''}`],
])('%o is no answer: that it is none is why it failed, and nothing is decided (L55)', async (said, problem) => {
  const { sessions, answers } = answering(() => said as ApprovalAnswer);
  answers.hear(approval);
  await until(() => answers.failed.aborted);
  expect(answers.failed.reason).toEqual(
    new ClientProblem('refused', `what onApproval said of call 1.1.0 (bash) ${problem}`),
  );
  expect(sessions.approve).not.toHaveBeenCalled();
  expect(sessions.deny).not.toHaveBeenCalled();
});

test('a question is put to onQuestion alone: it answers, declines, or its answer will not do (L81)', async () => {
  const onApproval = vi.fn<OnApproval>();
  const said = [
    { kind: 'answer', text: 'red' },
    { kind: 'deny', reason: 'ask later' },
    { kind: 'answer', text: ' ' },
  ] as const;
  const question = { ...asked, type: 'question', tool: 'ask_user', question: {}, input: { question: 'Why?' } } as const;
  const { sessions, answers } = answering(onApproval, undefined, ({ index }) => said[index]!);
  for (const index of [0, 1]) answers.hear({ ...question, call: `1.1.${index}`, index });
  await until(() => sessions.answer.mock.calls.length + sessions.deny.mock.calls.length === 2);
  expect(sessions.answer.mock.calls).toEqual([[session, '1.1.0', 'red']]);
  expect(sessions.deny.mock.calls).toEqual([[session, '1.1.1', 'ask later']]);
  answers.hear({ ...question, index: 2 });
  await until(() => answers.failed.aborted);
  expect(String(answers.failed.reason)).toContain(
    'what onQuestion said of question 1.1.0 will not do: the answer is empty',
  );
  expect(onApproval).not.toHaveBeenCalled();
});

test('an answer of onQuestion that is none is refused with the shapes that are (L81)', async () => {
  const question = { ...asked, type: 'question', tool: 'ask_user', question: {}, input: { question: 'Why?' } } as const;
  const { sessions, answers } = answering(vi.fn<OnApproval>(), undefined, () => ({ kind: 'allow' }) as never);
  answers.hear(question);
  await until(() => answers.failed.aborted);
  expect(String(answers.failed.reason)).toContain(
    "what onQuestion said of question 1.1.0 is { kind: 'allow' }: return { kind: 'answer', text: 'blue' } or { kind: 'deny', reason: 'why' }",
  );
  expect(sessions.deny).not.toHaveBeenCalled();
});
