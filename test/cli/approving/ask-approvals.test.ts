// What the person at the terminal is asked about a call that waits, and what becomes of the answer.
// Terminal and session are fakes.
import { expect, test, vi } from 'vitest';
import type { WaitingApproval } from '../../../client/sessions/waiting-approval.ts';
import type { Input } from '../../../cli/typing/input.ts';
import type { Env } from '../../../connection/data-folder.ts';
import { askApprovals } from '../../../cli/approving/ask-approvals.ts';
import { ClientProblem } from '../../../client/problem.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import { gate } from '../../../scripted-model/index.ts';
import { session } from '../../client/support.ts';
import { until } from '../../support/until.ts';

const approval = (call: string): WaitingApproval => ({
  session,
  call,
  tool: 'bash',
  reason: 'it may change files',
  inputHash: 'h',
  head: 'h' as Hash,
  index: 0,
  deadline: 9,
  input: { command: 'make' },
});

/** A terminal at which these lines are typed, one for each question; null: there is no terminal. */
function terminal(lines: readonly string[] | null, env: Env = {}, edit: Input['edit'] = () => Promise.resolve(null)) {
  const [said, questions]: [string[], string[]] = [[], []];
  const typed = [...(lines ?? [])];
  const readLine = (question: string, signal: AbortSignal): Promise<string | null> => {
    questions.push(question);
    const line = typed.shift();
    if (line !== undefined) return Promise.resolve(line);
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)));
  };
  const cli = {
    self: 'perdure',
    env,
    say: (line: string) => void said.push(line),
    input: lines && { ask: readLine, edit },
  };
  const approve = vi.fn(() => Promise.resolve(approval('x')));
  const deny = vi.fn(() => Promise.resolve(approval('x')));
  const answer = vi.fn(() => Promise.resolve(approval('x')));
  return { cli, said, questions, approve, deny, answer, asked: askApprovals(cli, { approve, deny, answer }) };
}

const wait = { type: 'approval' } as const;

test('without a terminal only says how to decide elsewhere (L55)', () => {
  const { asked, said, approve, deny } = terminal(null);
  asked.hear({ ...wait, ...approval('1.1.0') });
  expect(said).toEqual([
    'it waits for a decision: `perdure approve s-1 1.1.0`, or `perdure deny s-1 1.1.0 --reason "why"`',
  ]);
  expect([approve, deny].map((call) => call.mock.calls.length)).toEqual([0, 0]);
});

test.each([
  ['y', 'approve', [session, '1.1.0']],
  ['YES', 'approve', [session, '1.1.0']],
  ['n', 'deny', [session, '1.1.0', 'the user denied it', { interrupt: false }]],
  ['n use make clean', 'deny', [session, '1.1.0', 'use make clean', { interrupt: false }]],
  ['i enough', 'deny', [session, '1.1.0', 'enough', { interrupt: true }]],
  ['e {"command": "ls"}', 'approve', [session, '1.1.0', { input: { command: 'ls' } }]],
] as const)('takes "%s" at a terminal (L55)', async (line, act, args) => {
  const place = terminal([line]);
  place.asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => place[act].mock.calls.length > 0);
  expect(place[act].mock.calls).toEqual([args]);
  expect(place.questions).toEqual(['bash? [y]es / [a]lways / [n]o / [e]dit / [i]nterrupt / [l]ater: ']);
});

test('shows the input to be edited, and asks again for what is no JSON object (L55)', async () => {
  const { asked, approve, said } = terminal(['what', 'e', '[1]', 'edit', '{"command":"ls"}']);
  asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => approve.mock.calls.length > 0);
  expect(approve.mock.calls).toEqual([[session, '1.1.0', { input: { command: 'ls' } }]]);
  expect(said.slice(1)).toEqual([
    'answer y, a, n, e, i or l; a reason may follow n and i, a rule may follow a',
    'current input: {"command":"make"}',
    'the input [1] is not a JSON object: write it as {"name": "value"}',
    'current input: {"command":"make"}',
  ]);
});

test('withdraws the question when someone decides elsewhere, and goes on with the next (L55)', async () => {
  const { asked, approve, questions } = terminal([]);
  asked.hear({ ...wait, ...approval('1.1.0') });
  asked.hear({ ...wait, ...approval('1.1.1') });
  await until(() => questions.length === 1);
  asked.hear({ type: 'approval_settled', session, call: '1.1.0' });
  await until(() => questions.length === 2);
  await asked.stop();
  expect(approve).not.toHaveBeenCalled();
});

test('says why a decision was not taken, and asks again while the call waits', async () => {
  const { asked, approve, said } = terminal(['y', 'y']);
  approve.mockRejectedValueOnce(new ClientProblem('no_worker', 'no worker polls'));
  asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => approve.mock.calls.length === 2);
  expect(said).toContain('no worker polls');
});

test('a decision that is on its way when the following ends is given to its end (L55)', async () => {
  const { asked, approve } = terminal(['y']);
  const held = gate();
  approve.mockImplementation(async () => {
    await held.hold;
    return approval('x');
  });
  asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => approve.mock.calls.length === 1);
  const stopped = vi.fn();
  const stopping = asked.stop().then(stopped);
  await new Promise(setImmediate);
  expect(stopped).not.toHaveBeenCalled();
  held.release();
  await stopping;
});

test('Ctrl-D decides nothing: it is said that the call still waits, and how to decide (O18)', async () => {
  const said: string[] = [];
  const input = { ask: () => Promise.resolve(null), edit: () => Promise.resolve(null) };
  const say = (line: string): void => void said.push(line);
  const asked = askApprovals(
    { self: 'perdure', env: {}, say, input },
    { approve: vi.fn(), deny: vi.fn(), answer: vi.fn() },
  );
  asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => said.length === 2);
  expect(said[1]).toBe(`input has ended, and call 1.1.0 still waits; ${said[0]}`);
  await asked.stop();
});

test('"always" approves the call and those after it that its rule covers, and asks about others (O18)', async () => {
  const { asked, approve, said, questions } = terminal(['a', '']);
  asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => approve.mock.calls.length === 1);
  asked.hear({ ...wait, ...approval('1.2.0') });
  await until(() => approve.mock.calls.length === 2);
  asked.hear({ ...wait, ...approval('1.3.0'), input: { command: 'make clean' } });
  await until(() => questions.length === 3);
  await asked.stop();
  expect(approve.mock.calls).toEqual([
    [session, '1.1.0'],
    [session, '1.2.0'],
  ]);
  expect(questions[1]).toBe('allow bash(make)? Enter, or another rule, or n: ');
  expect(said.slice(1, 3)).toEqual([
    'approved, and from here on bash(make) while this terminal follows; to keep it, start with --allow "bash(make)"',
    'approved by your rule bash(make)',
  ]);
});

test('"always" takes a rule of the person, refuses one that could guard nothing, and is taken back with n (O18)', async () => {
  const { asked, approve, said } = terminal(['a bash(', 'a', 'n', 'a bash(make:*)']);
  asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => approve.mock.calls.length === 1);
  asked.hear({ ...wait, ...approval('1.2.0'), input: { command: 'make clean' } });
  await until(() => approve.mock.calls.length === 2);
  expect(said[1]).toContain('permission rule');
  await asked.stop();
});

test('"always" refuses a rule that leaves out the very call, and y at its question is yes (O18)', async () => {
  const { asked, approve, said } = terminal(['a make', 'a bash(npm test:*)', 'a', 'y']);
  asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => approve.mock.calls.length === 1);
  await asked.stop();
  for (const rule of ['make', 'bash(npm test:*)']) {
    expect(said).toContain(
      `the rule ${rule} doesn't cover this call, so nothing was decided: name the tool, as in bash(make)`,
    );
  }
  expect(said.at(-1)).toContain('from here on bash(make)');
});

const question = (options?: readonly string[]) =>
  ({ ...approval('1.1.0'), type: 'question', question: {}, input: { question: 'Which?', options } }) as const;

test.each([
  ['2', ['red', 'green'], 'green'],
  ['red', ['red', 'green'], 'red'],
  [' any words ', undefined, 'any words'],
] as const)('answers a question with "%s", in the name of who sits there (L81)', async (line, options, text) => {
  const { asked, answer, questions } = terminal([line]);
  asked.hear(question(options));
  await until(() => answer.mock.calls.length > 0);
  expect(answer.mock.calls).toEqual([[session, '1.1.0', text]]);
  expect(questions).toEqual(['your answer (Enter: later): ']);
});

test('asks again for what is not offered (L81)', async () => {
  const { asked, answer, said } = terminal(['3', 'blue', '1']);
  asked.hear(question(['red', 'green']));
  await until(() => answer.mock.calls.length > 0);
  expect(said.slice(1)).toEqual([
    '3 is not offered: give a number from 1 to 2',
    'blue is not offered: give a number from 1 to 2',
  ]);
});

test('an input is edited in the editor of the person, where there is one; unchanged it is asked again (O18)', async () => {
  const texts: string[] = [];
  const edit = (text: string): Promise<string> => {
    texts.push(text);
    return Promise.resolve(texts.length === 1 ? `${text}\n` : '{ "command": "ls" }');
  };
  const { asked, approve, said } = terminal(['e', 'e'], { EDITOR: 'vi' }, edit);
  asked.hear({ ...wait, ...approval('1.1.0') });
  await until(() => approve.mock.calls.length === 1);
  expect(texts[0]).toBe('{\n  "command": "make"\n}');
  expect(said[1]).toBe('input unchanged: answer y to run it');
  expect(approve.mock.calls).toEqual([[session, '1.1.0', { input: { command: 'ls' } }]]);
  await asked.stop();
});

test('Escape at a call leaves it for later, and ends no run (L55)', async () => {
  const offered: string[] = [];
  const pick: NonNullable<Input['pick']> = ({ options, escape }) => {
    offered.push(...options.map((option) => option.words));
    return Promise.resolve(escape ?? null);
  };
  const { cli, said, approve, deny, answer } = terminal(null);
  const none = () => Promise.resolve(null);
  const asking = askApprovals({ ...cli, input: { ask: none, edit: none, pick } }, { approve, deny, answer });
  await asking.ask(approval('1.1.0'));
  expect([approve, deny, answer].map((call) => call.mock.calls.length)).toEqual([0, 0, 0]);
  expect(offered.at(-1)).toBe('leave it for later  (Esc)');
  expect(said).toEqual([expect.stringContaining('perdure approve s-1 1.1.0')]);
});

test('where whole lines are typed, a call is left for later by a line, and a question by an empty one (L55)', async () => {
  const { asked, questions, approve, deny, answer } = terminal(['later', ' ', 'y'], {});
  await asked.ask(approval('1.1.0'));
  await asked.ask({ ...approval('1.1.1'), question: {}, input: { question: 'Which?' } });
  await asked.ask(approval('1.1.2'));
  expect(questions).toEqual([
    'bash? [y]es / [a]lways / [n]o / [e]dit / [i]nterrupt / [l]ater: ',
    'your answer (Enter: later): ',
    'bash? [y]es / [a]lways / [n]o / [e]dit / [i]nterrupt / [l]ater: ',
  ]);
  expect([approve.mock.calls.length, deny.mock.calls.length, answer.mock.calls.length]).toEqual([1, 0, 0]);
});
