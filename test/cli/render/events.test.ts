// What a person sees of a run, as the events come.
import { expect, test } from 'vitest';
import type { WatchedEvent } from '../../../store/live/events.ts';
import { showUnseen } from '../../../system/text.ts';
import type { RunOutcome } from '../../../client/sessions/outcome.ts';
import type { Hash, MessageId, SessionId } from '../../../workflows/contract/ids.ts';
import { noUsage } from '../../../workflows/contract/loop.ts';
import { at, screen } from '../../client/render/screen.ts';

const delta = (text: string, step = 1, attempt = 1): WatchedEvent => ({
  type: 'text_delta',
  iteration: 1,
  index: 0,
  text,
  ...at(step, attempt),
});
const result = (text: string, changes: Partial<RunOutcome> = {}): RunOutcome => ({
  type: 'result',
  run: 1,
  sessionId: 's-1' as SessionId,
  reason: 'completed',
  turns: 1,
  iterations: 1,
  transitions: [],
  text,
  usage: noUsage,
  costUsd: 0.5,
  durationMs: 1_500,
  ...changes,
});

test('streams text as it comes, and ends with the reason, turns, cost and time, without saying the text again', () => {
  expect(screen([delta('Hel'), delta('lo.'), result('Hello.')])).toBe('Hello.\ncompleted · 1 turn · $0.50 · 1.5 s\n');
});

test('shows the final text when the live channel lost it', () => {
  expect(screen([result('Hello.')])).toMatch(/^Hello\.\ncompleted/);
  expect(screen([delta('Hel'), result('Hello.')])).toMatch(/^Hel\nHello\.\ncompleted/);
});

test('says that what an attempt said is void, and counts none of it as said (L16)', () => {
  const tombstone: WatchedEvent = { type: 'tombstone', iteration: 1, why: 'overloaded', ...at(1) };
  const seen = screen([delta('Wrong.'), tombstone, result('Wrong.')]);
  expect(seen).toBe(
    'Wrong.\n✗ discard what attempt 1 showed above: overloaded\nWrong.\ncompleted · 1 turn · $0.50 · 1.5 s\n',
  );
});

test('says that what an attempt showed is stored, and not that it is void, when it is told again (L16 L39)', () => {
  const why = 'its reply is stored, and told again';
  const tombstone: WatchedEvent = { type: 'tombstone', iteration: 1, why, retold: true, ...at(1) };
  expect(screen([delta('Right.'), tombstone, delta('Right.', 1, 2)])).toBe(
    'Right.\n✗ attempt 1 failed: its reply is stored, and told again\nRight.',
  );
});

test('is silent about an attempt of which nothing was shown (L16)', () => {
  const start: WatchedEvent = { type: 'request_start', iteration: 1, model: 'm', ...at(1) };
  expect(screen([start, { type: 'tombstone', iteration: 1, why: 'overloaded', ...at(1) }])).toBe('');
});

test('takes the pieces of a recovered reply as said (L27)', () => {
  const cut: WatchedEvent = { type: 'reply', iteration: 1, stopReason: 'max_tokens', fate: 'cut', ...at(1) };
  expect(screen([delta('One '), cut, delta('two.', 2), result('One two.')])).toBe(
    'One \n(the reply was cut)\ntwo.\ncompleted · 1 turn · $0.50 · 1.5 s\n',
  );
});

test('puts a call, its result, a retry, a transition and a notice on lines of their own', () => {
  const call = { iteration: 1, index: 0, name: 'bash', ...at(1) };
  const seen = screen([
    delta('Let me see'),
    { type: 'tool_use', id: 'toolu_1', input: { command: 'ls -la\n', timeout: 5 }, ...call },
    { type: 'tool_start', early: true, ...call },
    { type: 'tool_end', isError: false, content: 'a\n\nb\nc\nd\n', durationMs: 40, ...call },
    { type: 'tool_end', isError: true, content: '', durationMs: 1, ...call },
    { type: 'retry', iteration: 1, failures: 2, delayMs: 1_000, error: '529: overloaded\nsecond line', ...at(1) },
    { type: 'transition', iteration: 1, reason: 'model_fallback', ...at(2) },
    { type: 'notice', notice: { kind: 'max_turns_reached', limit: 3, turnNotTaken: 4 }, ...at(2) },
  ]);
  expect(seen.split('\n')).toEqual([
    'Let me see',
    '▸ bash ls -la',
    '  │ a',
    '  │ b',
    '  │ c',
    '  │ (1 more line, 40 ms)',
    '  ✗ (no output)',
    '  │ (1 ms)',
    '↻ failed 2×, again in 1.0 s: 529: overloaded second line',
    '── continues with another model',
    '! turn limit reached: 3 turns',
    '',
  ]);
});

test('does not count the lines of a result that the channel has cut', () => {
  const content = 'line\n'.repeat(2_000).slice(0, 8_192);
  const end = { type: 'tool_end', iteration: 1, index: 0, name: 'read', isError: false, durationMs: 1 } as const;
  expect(screen([{ ...end, content, ...at(1) }])).toContain('(1,636+ more lines, 1 ms)');
});

test('shows a compaction from its start to what it saved, and the hooks as they run (L60)', () => {
  const here = { iteration: 1, ...at(1) };
  const seen = screen([
    { type: 'compaction_start', trigger: 'reactive', ...here },
    { type: 'hook_start', hook: 'lint', ...here },
    { type: 'hook_end', hook: 'lint', result: 'passed\n', ...here },
    { type: 'compaction_end', before: 1_000, after: 100, kept: 3, summary: 'It did.', ...here },
    { type: 'collapse_staged', savings: [70], ...here },
  ]);
  expect(seen.split('\n')).toEqual([
    '⇣ too long: compacting',
    '  … hook lint',
    '  … hook lint: passed',
    '⇣ compacted, about 1,000 → 100 tokens: 3 entries kept word for word, a summary of 7 characters stands for the rest; the full text: perdure show s-1 --full',
    '⇣ short forms of 1 old stretch are ready, 70 tokens to be saved',
    '',
  ]);
});

test('says the sentence that a run ended with once, when the error notice said it', () => {
  const failed = result('', { reason: 'model_error', detail: '401: bad key' });
  const error: WatchedEvent = { type: 'notice', notice: { kind: 'error', text: '401: bad key' }, ...at(1) };
  const ending = 'model error · 1 turn · $0.50 · 1.5 s\n';
  expect(screen([error, failed])).toBe(`! 401: bad key\n${ending}`);
  expect(screen([failed])).toBe(ending.replace(' ·', ': 401: bad key ·'));
  const start: WatchedEvent = { type: 'request_start', iteration: 2, model: 'm', ...at(2) };
  expect(screen([error, start, failed])).toContain('model error: 401: bad key');
});

test('shows a call that waits for a decision, on lines of its own (L55)', () => {
  const approval = { call: '1.1.0', tool: 'bash', reason: 'ask first', inputHash: 'h', head: 'h' as Hash, index: 0 };
  const session = 's-1' as SessionId;
  const seen = screen([
    delta('Let me'),
    { type: 'approval', session, ...approval, deadline: 0, input: { command: 'make' } },
    { type: 'approval_settled', session, call: '1.1.0' },
  ]);
  expect(seen.split('\n').slice(0, 4)).toEqual([
    'Let me',
    '? bash waits for a decision',
    '  │ $ make',
    '  because: ask first',
  ]);
});

test('shows other people’s messages, and not the one just given', () => {
  const said = (id: string, text: string): WatchedEvent => ({ type: 'user', id: id as MessageId, text, ...at(1) });
  expect(screen([said('mine', 'do it'), said('theirs', 'and that')], { own: 'mine' })).toBe('› and that\n');
});

test('tells thinking from speaking by its colour, and without colours only that there is some', () => {
  const thought = (text: string): WatchedEvent => ({ type: 'thinking_delta', iteration: 1, index: 0, text, ...at(1) });
  const events = [thought('Hm, '), thought('maybe.'), delta('Yes.')];
  expect(screen(events)).toBe('(thinking)\nYes.');
  expect(screen(events, { colours: true })).toBe('\u001b[2mHm, \u001b[22m\u001b[2mmaybe.\u001b[22m\nYes.');
});

test('lets nothing of the model or a tool act on the terminal', () => {
  const evil = '\u001b]0;x\u0007\u009b2J';
  const call = { iteration: 1, index: 0, ...at(1) };
  const seen = screen([
    delta(evil),
    { type: 'tool_use', id: evil, name: evil, input: { [evil]: evil }, ...call },
    { type: 'tool_end', name: evil, isError: true, content: evil, durationMs: 1, ...call },
    { type: 'tool_progress', text: evil, ...call },
    { type: 'retry', iteration: 1, failures: 1, delayMs: 1, error: evil, ...at(1) },
    { type: 'notice', notice: { kind: 'error', text: evil }, ...at(1) },
    result(evil, { reason: 'model_error', detail: evil }),
  ]);
  expect(seen).toBe(showUnseen(seen));
});

test('a prompt of many lines is told with its first line and how many follow', () => {
  const text = 'look at this\n\n```\na.txt\n```\n';
  expect(screen([{ type: 'user', id: 'm' as MessageId, text, ...at(1) }])).toBe('› look at this [3 more lines]\n');
});
