// What a person does on the page, and what is said of it.
import { expect, test } from 'vitest';
import { hashOf } from '../../store/values/store.ts';
import { ClientProblem } from '../../client/problem.ts';
import { type PersonRequest, noRecentRequests, type RecentRequests } from '../../client/sessions/history/recent.ts';
import { stagedPage } from '../support/page-ports.ts';
import { callBlock, reply, user } from '../support/transcript.ts';

test.each(['interrupt', 'resume', 'cancel'])('%s reaches the session, and it is said so (O8)', async (action) => {
  const { post, done } = await stagedPage();
  const answer = await post(`/sessions/s-1/${action}`, {});
  expect([answer.status, done]).toEqual([200, [action]]);
  expect(await answer.text()).toMatch(/^<p class="good">(?:Interrupting|Resuming|Ending)/);
});

test('a decision about a session that nobody watches opens no view of it, which would read all of it (O8)', async () => {
  const { page, post, text, done } = await stagedPage();
  expect((await post('/sessions/s-1/deny', { call: '1.1.0' })).status).toBe(200);
  expect([done, page.feeds.size]).toEqual([['deny'], 0]);
  await text('/sessions/s-1');
  expect((await post('/sessions/s-1/interrupt', {})).status).toBe(200);
  expect(page.feeds.size).toBe(1);
});

test('a message that was sent is shown as waiting until it is taken (O8)', async () => {
  const { post, text } = await stagedPage({ entries: [user('x')] });
  expect((await post('/sessions/s-1/send', { text: 'one more thing' })).status).toBe(200);
  expect(await text('/sessions/s-1')).toContain('one more thing</pre><p class="quiet">Sent. Waiting for the next turn');
});

test('an edited input that is not JSON is refused before anything is sent (O8)', async () => {
  const { post, done } = await stagedPage();
  const answer = await post('/sessions/s-1/approve', { call: '1.1.0', inputHash: 'h', input: '{"a": ' });
  expect([answer.status, done]).toEqual([400, []]);
  expect(await answer.text()).toContain('the input is not JSON');
});

test('a call that waits is shown with its question, its input and its deadline (O8)', async () => {
  const pending = {
    call: '1.1.0',
    tool: 'bash',
    reason: 'it writes',
    inputHash: 'h',
    head: hashOf(Buffer.from('x')),
    index: 0,
    deadline: Date.UTC(2030, 0, 1),
  };
  const { text } = await stagedPage({
    entries: [reply([callBlock('a', {}, 'bash')])],
    seen: { phase: 'waiting_approval', approvals: [pending] },
  });
  const page = await text('/sessions/s-1');
  for (const part of [
    'waits for a decision',
    'it writes',
    '&quot;path&quot;: &quot;a.txt&quot;',
    'data-at="1893456000000"',
    'class="call waiting"',
  ])
    expect(page).toContain(part);
});

test('limits of the run under way are set, as numbers, and only those that were given (O8)', async () => {
  const given: unknown[] = [];
  const { post } = await stagedPage({
    ports: { topUp: (_, limits) => Promise.resolve(void given.push(limits)) },
  });
  const empty = { maxTurns: '', maxBudgetUsd: '', maxTokens: '', minutes: '' };
  expect((await post('/sessions/s-1/topUp', { ...empty, maxTurns: '50', minutes: '1.5' })).status).toBe(200);
  const wrong = await post('/sessions/s-1/topUp', { ...empty, maxTurns: 'many' });
  expect([wrong.status, await wrong.text()]).toEqual([400, expect.stringContaining('maxTurns is no number')]);
  expect(given).toEqual([{ maxTurns: 50, timeoutMs: 90_000, exact: true }]);
});

test('a question aside is answered in words, shown as they are, with what it took (O8)', async () => {
  const asked: unknown[] = [];
  const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 0 };
  const answer = { answer: 'Three <b>files</b>\u202e.', cut: false, model: 'claude-a', usage, costUsd: 0.5 };
  const { post } = await stagedPage({
    ports: { askAside: (...given) => Promise.resolve((asked.push(given), answer)) },
  });
  const said = await post('/sessions/s-1/aside', { question: 'What have you found?' });
  expect([said.status, await said.text()]).toEqual([
    200,
    '<p class="good">Three &lt;b&gt;files&lt;/b&gt;\\u202e.\n\n(aside, by claude-a · 6 tokens · $0.50)</p>',
  ]);
  expect(asked).toEqual([['s-1', 'What have you found?']]);
});

test('model, mode and rules of the next run are set; what is empty stays, and none takes it back (O8)', async () => {
  const given: unknown[] = [];
  const { post } = await stagedPage({
    ports: { setOptions: (_, changes) => Promise.resolve(void given.push(changes)) },
  });
  const empty = { model: '', permissionMode: '', allow: '', ask: '', deny: '' };
  await post('/sessions/s-1/options', { ...empty, model: 'claude-x', deny: 'bash(rm:*)\n\n write ' });
  await post('/sessions/s-1/options', { ...empty, permissionMode: 'plan', model: 'none', allow: 'none' });
  expect((await post('/sessions/s-1/options', { ...empty, permissionMode: 'root' })).status).toBe(400);
  expect(given).toEqual([
    { model: 'claude-x', permissions: { deny: ['bash(rm:*)', 'write'] } },
    { model: null, permissionMode: 'plan', permissions: null },
  ]);
});

test('whoever decides second is told who was first, and what was decided (O8)', async () => {
  const asked: readonly PersonRequest[] = [
    { kind: 'deny', call: '1.1.0', reason: 'too risky', at: Date.now() - 5_000, by: '<b>ana</b>' },
  ];
  const late = (): Promise<never> => Promise.reject(new ClientProblem('no_call', 'no call 1.1.0 waits'));
  const { post } = await stagedPage({
    ports: { approve: late, deny: late, recent: () => Promise.resolve({ ...noRecentRequests, asked }) },
  });
  for (const [action, body] of [
    ['approve', { call: '1.1.0', inputHash: 'h', input: '{}' }],
    ['deny', { call: '1.1.0', reason: 'no' }],
  ] as const) {
    const answer = await post(`/sessions/s-1/${action}`, body);
    expect([answer.status, await answer.text()]).toEqual([
      409,
      expect.stringMatching(
        /another was first: call 1\.1\.0 denied \(too risky\) by &lt;b&gt;ana&lt;\/b&gt; \d+ s ago/,
      ),
    ]);
  }
  const other = await post('/sessions/s-1/deny', { call: '1.2.0', reason: 'no' });
  expect(await other.text()).toContain('no call 1.1.0 waits');
});

test('who asked what lately is shown, and options that wait for the next run; figures have raised limits (O8)', async () => {
  const recent: RecentRequests = {
    messages: [],
    before: [],
    asked: [
      { kind: 'topUp', limits: { maxTurns: 40 }, at: 1, by: 'ana' },
      { kind: 'setOptions', changes: { model: 'claude-y' }, at: 2, by: '' },
      { kind: 'approve', call: '1.1.0', edited: false, at: 3, by: 'the owner on the ops page' },
    ],
    raised: { maxTurns: 40 },
    next: { model: 'claude-y' },
  };
  const { text } = await stagedPage({ seen: { phase: 'running' }, ports: { recent: () => Promise.resolve(recent) } });
  const page = await text('/sessions/s-1');
  for (const part of ['limits raised to 40 turns by <b>ana</b>', 'For the next run: model claude-y', '<b>somebody</b>'])
    expect(page).toContain(part);
  expect(page).toContain('<p id="limits-now">Now: 40 turns');
  expect(page).toContain('call 1.1.0 allowed by <b><span class="owner-you">you, on the page</span>');
  expect(page).toContain('data-owner=""');
});

test('a question is shown with its options as buttons, or a field, and nothing of it is markup (L81 O8)', async () => {
  const pending = (index: number, call = `1.1.${index}`, tool = 'ask_user') => ({
    call,
    tool,
    reason: 'it asks a question',
    inputHash: 'h',
    head: hashOf(Buffer.from('x')),
    index,
    deadline: Date.UTC(2030, 0, 1),
    question: {},
  });
  const inputs = [
    { question: '<b>Which?</b>\u001b[2J', options: ['red', '<i>'] },
    { question: 'Why?' },
    { question: 'Sure?' },
  ];
  const { text, post, done } = await stagedPage({
    seen: { phase: 'waiting_approval', approvals: [pending(0), pending(1), pending(2, '1.1.2+q1', 'mcp__crm__book')] },
    ports: { waiting: (session, one) => Promise.resolve({ ...one, session, input: inputs[one.index] }) },
  });
  const page = await text('/sessions/s-1');
  expect(page).toContain('&lt;b&gt;Which?&lt;/b&gt;');
  expect(page).not.toContain('\u001b');
  expect(page).toContain('<button name="answer" value="&lt;i&gt;"');
  expect(page).toContain('<textarea name="answer"');
  expect(page.match(/(?:The model|mcp__crm__book) asks/g)).toEqual([
    'The model asks',
    'The model asks',
    'mcp__crm__book asks',
  ]);
  const answer = await post('/sessions/s-1/answer', { call: '1.1.0', answer: 'red' });
  expect([answer.status, await answer.text(), done]).toEqual([200, expect.stringContaining('Answered.'), ['answer']]);
});

test('a call whose input cannot be read can be denied, and not allowed (O8)', async () => {
  const pending = { call: '1.1.0', tool: 'bash', reason: 'rule', inputHash: 'h', head: null, index: 0, deadline: 0 };
  const problem = 'its input cannot be read: the value is not in the store';
  const { text, post, done } = await stagedPage({
    seen: { phase: 'waiting_approval', approvals: [pending as never] },
    ports: {
      waiting: (session, one) => Promise.resolve({ ...one, session, input: null, problem }),
      approvals: (session) => Promise.resolve([{ ...pending, session, input: null, problem } as never]),
    },
  });
  const page = await text('/sessions/s-1');
  expect(page).toContain(problem);
  expect(page).toContain('data-act="deny"');
  expect(page).not.toContain('data-act="allow"');
  const answer = await post('/sessions/s-1/approve', { call: '1.1.0', inputHash: 'h', input: 'null' });
  expect([answer.status, await answer.text(), done]).toEqual([
    400,
    expect.stringContaining(`call 1.1.0 can only be denied: ${problem}`),
    [],
  ]);
});

test('a prompt but the first offers a fork from there, which leads to the new session (T10)', async () => {
  const { post, text, done } = await stagedPage({ entries: [user('First.'), reply([]), user('Second.')] });
  const page = await text('/sessions/s-1');
  expect(page.match(/Fork from here/g)).toHaveLength(1);
  expect(page).toContain('data-fork-at="2"');
  const answer = await post('/sessions/s-1/fork', { at: '2', where: 'own', folder: '', prompt: '' });
  expect([answer.status, done]).toEqual([200, ['fork 2']]);
  expect(await answer.text()).toContain('Its files are in /work-s-2');
});
