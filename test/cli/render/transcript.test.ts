// What `perdure show` prints of a session.
import { expect, test } from 'vitest';
import type { CallLog, Entry } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import { createPaint } from '../../../client/paint.ts';
import { showUnseen } from '../../../system/text.ts';
import { transcriptText } from '../../../cli/render/transcript.ts';
import { runOutcome } from '../../../client/sessions/outcome.ts';
import { noUsage } from '../../../workflows/contract/loop.ts';
import { sessionTable } from '../../../client/render/tables.ts';
import { displayWidth } from '../../../client/render/width.ts';
import { rowsOfTree } from '../../../client/sessions/trees.ts';
import type { SessionReading } from '../../../client/sessions/read.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import {
  callBlock,
  notice,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  transition,
  user,
} from '../../support/transcript.ts';
import { description, ended, message } from '../../client/support.ts';

const show = (entries: readonly Entry[], changes: Partial<SessionReading> = {}): string =>
  transcriptText(createPaint(false), {
    description: description({ phase: 'idle', runs: 1 }),
    runs: [],
    entries,
    bodies: new Map(),
    first: 0,
    problems: [],
    ...changes,
  });

test('says who steered the session, how and when (O12)', () => {
  const by = { by: 'ana\u001b', at: Date.UTC(2026, 0, 2, 3, 4, 5) };
  const changes = { model: 'm', maxTurns: null, permissions: { deny: ['write'] } };
  const text = show([
    { kind: 'steered', steered: { action: 'interrupt', ...by, earlier: 3 } },
    { kind: 'steered', steered: { action: 'topUp', limits: { maxTurns: 20 }, at: by.at } },
    { kind: 'steered', steered: { action: 'setOptions', changes, untold: ['toolEnv'], ...by } },
  ]);
  expect(text.split('\n').slice(2, 5)).toEqual([
    '• interrupted by ana\\x1b, 2026-01-02 03:04:05 UTC (3 earlier actions not listed)',
    '• limits raised to 20 turns, 2026-01-02 03:04:05 UTC',
    '• options for the next run set (model m, maxTurns as the worker says, permissions {"deny":["write"]}, toolEnv) by ana\\x1b, 2026-01-02 03:04:05 UTC',
  ]);
});

test('tells a run from its prompt to its end, each call with its outcome', () => {
  const denied = { key: null, name: 'write', decision: 'denied', duration: 0, outcome: 'not_run' } as const;
  const text = show([
    runStarted(1),
    user('count them'),
    reply([textBlock('I look.'), callBlock('toolu_1', { path: 'a' }), callBlock('toolu_2', { path: 'b' }, 'write')]),
    outcomes(outcome(1, 'one\ntwo'), outcome(2, 'Not run: ask first', { isError: true, log: denied })),
    transition(1, 'next_turn'),
    notice({ kind: 'call_cut' }),
    reply([textBlock('Two.')], { fate: 'cut' }),
    runEnded(1, { reason: 'max_turns', limit: 2, turnNotTaken: 3 }),
    { kind: 'session_closed', notTaken: [message('late')] },
  ]);
  expect(text.split('\n')).toEqual([
    's-1  do it',
    'idle · 1 run · since 1970-01-01 00:00 UTC · /work',
    '',
    '── run 1',
    '› count them',
    'I look.',
    '▸ read a',
    '  │ one',
    '  │ two',
    '  │ (1 ms)',
    '▸ write b',
    '  ✗ Not run: ask first',
    '  (denied)',
    '! its last tool call was cut and did not run',
    'Two.',
    '(the reply was cut)',
    'turn limit reached: 2 turns · 2 turns · $0 · 5 ms',
    'closed; 1 message not taken',
    '',
  ]);
});

test('shows the text of a prompt that was stored, and says of a very long one that there is more', () => {
  const hash = hashOf(Buffer.from('x'));
  const entry: Entry = { kind: 'user', id: message('m'), body: { kind: 'stored', hash, bytes: 30_000 } };
  expect(show([entry], { bodies: new Map([[hash, 'y'.repeat(30_000)]]) })).toContain('… (30,000 characters in all)');
  expect(show([entry])).toContain('› (its text cannot be read)');
});

test('says of a run under way how to follow it, and shows its calls before they have outcomes', () => {
  const busy = description({ phase: 'running' });
  const text = show([reply([callBlock('toolu_1', { path: 'a' })])], { description: busy });
  expect(text).toContain('▸ read a\n  (no outcome yet)\n(a run is under way: perdure watch s-1)');
});

test('says of a call with the id of one before it that it is not run, while and after the run (L39)', () => {
  const twice = () => reply([callBlock('toolu_1', { path: 'a' }), callBlock('toolu_1', { path: 'b' })]);
  const open = '▸ read a\n  (no outcome yet)\n';
  const second = '▸ read b\n  (not run: a call before it has the same id)\n';
  const text = show([twice(), outcomes(outcome(0, 'x')), twice()]);
  expect(text).toContain(`▸ read a\n  │ x\n  │ (1 ms)\n${second}${open}${second}`);
});

const pending = {
  call: '1.1.0+2',
  tool: 'bash',
  reason: 'nothing has run; the edited input will not do',
  inputHash: 'h',
  head: 'h' as Hash,
  index: 1,
  deadline: 9,
};

test('says of the call that waits for a decision that it does, why, and by which name (L55)', () => {
  const waits = description({ phase: 'waiting_approval', approvals: [pending] });
  const before = reply([callBlock('toolu_1'), callBlock('toolu_2')]);
  const both = reply([callBlock('toolu_1', { path: 'a' }), callBlock('toolu_2', { path: 'b' })]);
  const lines = show([before, outcomes(outcome(0, 'x')), both], { description: waits }).split('\n');
  const why = '  ? waits for a decision: nothing has run; the edited input will not do (call 1.1.0+2)';
  expect(lines.slice(7)).toEqual([
    '▸ read a',
    '  (no outcome yet)',
    '▸ read b',
    why,
    '(a run is under way: perdure watch s-1)',
    '(it waits for a decision: `perdure approve s-1 1.1.0+2`, or `perdure deny s-1 1.1.0+2 --reason "why"`)',
    '',
  ]);
  expect(lines.filter((line) => line.includes('waits for a decision'))).toEqual([
    why,
    expect.stringContaining('perdure approve'),
  ]);
  const closed = description({ status: 'terminated', phase: 'closed', approvals: [pending] });
  expect(show([both], { description: closed })).not.toMatch(/waits for a decision/);
  const agent = { session: 's-1.agent-1' as never, call: '1.2.0', path: ['Audit'] };
  const question = { kind: 'form', question: 'Which?' } as never;
  const asks = description({ phase: 'waiting_approval', approvals: [{ ...pending, question, agent }] });
  expect(show([both], { description: asks })).toContain(
    '(it waits for an answer: `perdure answer s-1.agent-1 1.2.0 "your answer"`)',
  );
});

const call = { key: null, name: 'bash', decision: 'allowed', duration: 34, outcome: 'ok' } as const;
const person = { inputHash: 'h' };
const edited = { inputHash: 'h', editedHash: 'e' as Hash };

test.each<[string, string, Partial<CallLog>, readonly string[]]>([
  ['one that ran as asked', 'made', {}, ['  │ made', '  │ (34 ms)']],
  ['one that failed', 'no such file', { outcome: 'error' }, ['  ✗ no such file', '  │ (34 ms)']],
  ['one that was stopped', 'half', { outcome: 'cancelled' }, ['  ✗ half', '  │ (34 ms)', '  (cancelled)']],
  ['a lost one', 'started at noon', { outcome: 'unknown' }, ['  ✗ started at noon', '  (outcome unknown)']],
  ['a lost one that says so', 'outcome unknown: lost', { outcome: 'unknown' }, ['  ✗ outcome unknown: lost']],
  ['one never begun', 'stopped', { decision: 'not_run', outcome: 'not_run' }, ['  ✗ stopped', '  (not run)']],
  ['one denied', 'no', { decision: 'denied', outcome: 'not_run' }, ['  ✗ no', '  (denied)']],
  ['one that a person let run', 'made', { approved: person }, ['  │ made', '  │ (34 ms)', '  (a person allowed it)']],
  [
    'one that Ana let run',
    'made',
    { approved: { ...person, by: 'ana' } },
    ['  │ made', '  │ (34 ms)', '  (ana allowed it)'],
  ],
  [
    'one that Ana denied',
    'no',
    { decision: 'denied', outcome: 'not_run', deniedBy: 'ana\n' },
    ['  ✗ no', '  (denied by ana)'],
  ],
  [
    'one that a person changed, and that was lost',
    'gone',
    { outcome: 'unknown', approved: edited },
    ['  ✗ gone', '  (outcome unknown, a person allowed it with another input)'],
  ],
])(
  'says in words how a call came out, and what it took only if it is known: %s (L33 L55)',
  (_, content, log, shown) => {
    const isError = (log.outcome ?? 'ok') !== 'ok';
    const text = show([
      reply([callBlock('t', {}, 'bash')]),
      outcomes(outcome(0, content, { isError, log: { ...call, ...log } })),
    ]);
    expect(text.split('\n').slice(3, -1)).toEqual(shown);
  },
);

test('says the sentence that a run ended with once, when the error before its end said it', () => {
  const why = 'the prompt is longer than the window';
  const end = runEnded(1, { reason: 'blocking_limit', detail: why });
  expect(
    show([notice({ kind: 'error', text: why }), end])
      .split('\n')
      .slice(2, -1),
  ).toEqual([`! ${why}`, 'no room left in the context window · 2 turns · $0 · 5 ms']);
  expect(show([notice({ kind: 'error', text: 'another' }), end])).toContain(
    `no room left in the context window: ${why} · 2 turns`,
  );
  expect(show([notice({ kind: 'error', text: why }), user('again'), end])).toContain(
    `no room left in the context window: ${why} ·`,
  );
});

test('marks where the model’s view begins, and says how to see all of it (L5)', () => {
  const text = show([
    user('count'),
    { kind: 'boundary', trigger: 'auto', summary: 'S', prompts: [0], from: 1, before: 900, after: 50 },
    { kind: 'snip', entries: [0] },
  ]);
  expect(text.split('\n').slice(3)).toEqual([
    '',
    '══ compacted, about 900 → 50 tokens: the model sees a summary, all from entry 1 on and 1 prompt before; the full text: perdure show s-1 --full',
    '',
    '⇣ the model no longer sees entry 0',
    '',
  ]);
});

test('says how the last run ended when the transcript cannot be read', () => {
  const last = { ...ended({ run: 3 }), head: null };
  expect(show([], { description: description({ phase: 'idle', last }) })).toContain(
    'the transcript cannot be read; run 3 ended: completed',
  );
});

test('lets nothing in a transcript act on the terminal', () => {
  const evil = '\u001b]0;x\u0007\u009b2J';
  const text = show(
    [user(evil), reply([textBlock(evil), callBlock('t', { a: evil }, evil)]), outcomes(outcome(1, evil))],
    {
      description: description({ title: evil, cwd: evil }),
    },
  );
  expect(text).toBe(showUnseen(text));
});

test('lists sessions in columns', () => {
  const last = { ...ended({ run: 1 }), head: null };
  const facts = { turns: 7, tokens: 9, cents: 150 };
  const sessions = [
    description({ title: 'a long\ntitle \u001b[31mred', last, runs: 12, phase: 'idle', facts }),
    description({ status: 'terminated', phase: 'closed', startedAt: 60_000 }),
    description({ phase: 'waiting_approval' }),
    description({ phase: 'parked', parkedUntil: Date.UTC(2030, 0, 2, 3, 4, 5) }),
  ];
  expect(sessionTable(createPaint(false), sessions, 3_660_000)).toBe(
    [
      'SESSION  PHASE            RUNS  TURNS  COST   LAST       AGE  TITLE',
      's-1      idle             12    7      $1.50  completed  1 h  a long title \\x1b[31mred',
      's-1      terminated       0     -      -      -          1 h  do it',
      's-1      needs you        0     -      -      -          1 h  do it',
      's-1      parked to 03:04  0     -      -      -          1 h  do it',
      '',
    ].join('\n'),
  );
});

test.each([120, 80, 60, 40])(
  'a list on %d columns leaves out columns and wraps no row, agents below their caller',
  (columns) => {
    const facts = { turns: 7, tokens: 9, cents: 15_000 };
    const last = { ...ended({ run: 1 }), head: null };
    const title = 'Сводка 漢字漢字漢字 and a long title of it all that goes on and on';
    const session = 's-0123456789' as SessionId;
    const agent = { type: 'general', parent: session, root: session, depth: 1 };
    const rows = rowsOfTree({
      session: description({ session, title, last, phase: 'idle', facts }),
      agents: [
        {
          session: description({ session: `${session}.1` as SessionId, title, facts: { ...facts, agent } }),
          agents: [],
        },
      ],
    });
    const lines = sessionTable(
      createPaint(false, () => columns),
      rows,
      3_660_000,
    )
      .trimEnd()
      .split('\n');
    expect(lines).toHaveLength(3);
    expect(lines.every((line) => displayWidth(line) < columns)).toBe(true);
    expect(lines[2]).toMatch(/^s-0123456789\.1 .* {2}└ Св/);
    expect(lines.filter((line) => line.includes('$150.00'))).toHaveLength(columns < 50 ? 0 : 2);
  },
);

test('a session that rests after a failure is called failed', () => {
  const last = { ...ended({ run: 1, terminal: { reason: 'max_turns' } as never }), head: null };
  for (const phase of [{ phase: 'idle' }, { phase: 'closed', status: 'completed' }] as const)
    expect(sessionTable(createPaint(false), [description({ ...phase, last })], 0)).toMatch(/^s-1 +failed /m);
});

test('shows what the API searched the web for and what it found, on a line each (L88)', () => {
  const search = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'how\u001b tall' } };
  const page = { type: 'web_search_result', url: 'https://a.example/x', title: 'A title', encrypted_content: 'e' };
  const found = { type: 'web_search_tool_result', tool_use_id: 'srvtoolu_1', content: [page] };
  const failed = { ...found, content: { type: 'web_search_tool_result_error', error_code: 'query_too_long' } };
  const text = show([reply([search, found, failed, textBlock('Tall.')] as never)]);
  expect(text.split('\n').slice(2, 6)).toEqual([
    '• searched the web for "how\\u001b tall"',
    '• found "A title" <https://a.example/x>',
    '• the search failed: query too long',
    'Tall.',
  ]);
});

test('an agent that ended says how and what, before the outcome of its call is stored (F24)', () => {
  const called = (index: number) => callBlock(`toolu_${index}`, { description: 'Audit it', prompt: 'p' }, 'agent');
  const calls = reply([called(0), called(1)]);
  const facts = { turns: 2, tokens: 10, cents: 1 };
  const ended1 = description({
    session: 's-1.agent-1' as SessionId,
    phase: 'closed',
    status: 'completed',
    closedAt: 1_500,
    facts,
  });
  const endedRun = {
    run: 1,
    reason: 'completed',
    terminal: { reason: 'completed' },
    turns: 2,
    iterations: 2,
    transitions: [],
    text: 'Two faults.',
    usage: noUsage,
    costUsd: 0.01,
    durationMs: 1_500,
    messages: [],
  } as const;
  const works = description({ session: 's-1.agent-2' as SessionId });
  const agents = new Map([
    [0, { agent: ended1, outcome: runOutcome(ended1.session, endedRun) }],
    [1, { agent: works, outcome: null }],
  ]);
  const reading = {
    description: description(),
    runs: [],
    entries: [runStarted(1), user('audit'), calls],
    bodies: new Map(),
    first: 0,
    problems: [],
  };
  const text = transcriptText(createPaint(false), reading, { agents: new Map([[calls, agents]]) });
  expect(text.split('\n').slice(5)).toEqual([
    expect.stringContaining('▸ agent Audit it'),
    '  │ Two faults.',
    '  (agent s-1.agent-1: completed in 1.5 s · 2 turns · $0.01)',
    expect.stringContaining('▸ agent Audit it'),
    '  (agent s-1.agent-2: running)',
    expect.stringContaining('a run is under way'),
    '',
  ]);
});
