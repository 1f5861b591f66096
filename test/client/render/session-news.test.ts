// The lines that `perdure dev` says about sessions, from two looks at them.
import { expect, test } from 'vitest';
import { createPaint } from '../../../client/paint.ts';
import { type NewsLook, newsLines } from '../../../client/render/session-news.ts';
import type { SessionInfo } from '../../../client/sessions/info.ts';
import type { Hash, SessionId } from '../../../workflows/contract/ids.ts';
import type { Terminal } from '../../../workflows/contract/loop.ts';
import type { PendingApproval, RunSummary } from '../../../workflows/contract/session.ts';
import { description } from '../support.ts';

const SINCE = 1_000;
type Changes = Omit<Partial<SessionInfo>, 'session'>;
const seen = (changes: Changes = {}, id = 's-1'): SessionInfo =>
  description({ session: id as SessionId, startedAt: SINCE, ...changes });
const look = (...sessions: readonly SessionInfo[]): NewsLook => new Map(sessions.map((each) => [each.session, each]));
const news = (before: NewsLook | null, now: NewsLook) =>
  newsLines({ before, now, since: SINCE }, { paint: createPaint(false), self: 'perdure', clock: '14:03:20' });

/** Of one session, without the time and the session's name. */
const told = (before: Changes | null, now: Changes): readonly string[] =>
  news(before === null ? look() : look(seen(before)), look(seen(now))).map((line) => line.replace(/^.*?" /, ''));

const last = (run: number, terminal: Terminal = { reason: 'completed' }): RunSummary => ({
  run,
  terminal,
  turns: run + 1,
  iterations: 2,
  head: null,
  messages: [],
});
const facts = (cents: number | null) => ({ turns: 3, tokens: 10, cents });
const agent = { type: 'explore', parent: 's-1' as SessionId, root: 's-1' as SessionId, depth: 1 };
const pending = (call: string, changes: Partial<PendingApproval> = {}): PendingApproval => ({
  call,
  tool: 'bash',
  reason: 'it changes files',
  inputHash: 'h',
  head: 'h' as Hash,
  index: 0,
  deadline: 9,
  ...changes,
});
const waits = (...approvals: readonly PendingApproval[]): Changes => ({ phase: 'waiting_approval', approvals });
const closed: Changes = { phase: 'closed', status: 'cancelled', facts: facts(4) };
const until = Date.UTC(2026, 0, 2);

test.each<[title: string, before: Changes | null, now: Changes, lines: readonly string[]]>([
  ['begins', null, {}, ['begins in /work']],
  [
    'begins and ends its run',
    null,
    { phase: 'idle', runs: 1, last: last(1), facts: facts(2) },
    ['begins in /work', 'run 1 ended: completed · 2 turns · $0.02'],
  ],
  ['goes on as it did', { runs: 1 }, { runs: 1 }, []],
  ['opens its first run', { runs: 0 }, { runs: 1 }, []],
  ['was only out of sight, and rests', null, { startedAt: 0, phase: 'idle', runs: 1, last: last(1) }, []],
  ['was only out of sight, and runs', null, { startedAt: 0, runs: 2, last: last(1) }, ['goes on with run 2']],
  ['was closed out of sight', null, { ...closed, startedAt: 0 }, []],
  ['waits for a worker', { runs: 1 }, { runs: 1, phase: 'waiting_worker' }, []],
  [
    'is parked',
    { runs: 1 },
    { runs: 1, phase: 'parked', parkedUntil: until },
    ['is parked until 2026-01-02 00:00:00 UTC'],
  ],
  ['stays parked', { phase: 'parked', parkedUntil: until }, { phase: 'parked', parkedUntil: until }, []],
  [
    'is parked again',
    { phase: 'parked', parkedUntil: until - 1 },
    { phase: 'parked', parkedUntil: until },
    ['is parked until 2026-01-02 00:00:00 UTC'],
  ],
  ['goes on after a parking', { runs: 1, phase: 'parked', parkedUntil: until }, { runs: 1 }, ['goes on']],
  ['goes on after a decision', { runs: 1, ...waits(pending('1.2.0')) }, { runs: 1 }, ['goes on']],
  [
    'goes on with a message',
    { phase: 'idle', runs: 1, last: last(1) },
    { runs: 2, last: last(1) },
    ['goes on with run 2'],
  ],
  [
    'ends a run and goes on with another',
    { runs: 1 },
    { runs: 2, last: last(1), facts: facts(null) },
    ['run 1 ended: completed · 2 turns · cost unknown', 'goes on with run 2'],
  ],
  [
    'ends a later run',
    { runs: 2, last: last(1) },
    { phase: 'idle', runs: 2, last: last(2), facts: facts(150) },
    ['run 2 ended: completed · 3 turns · $1.50 in all'],
  ],
  [
    'ends badly',
    { runs: 1 },
    { phase: 'idle', runs: 1, last: last(1, { reason: 'model_error', detail: 'no\nanswer' } as unknown as Terminal) },
    ['run 1 ended: model error: no answer · 2 turns'],
  ],
  [
    'is closed',
    { phase: 'idle', runs: 1, last: last(1) },
    { ...closed, runs: 1, last: last(1) },
    ['is closed · 3 turns · $0.04'],
  ],
  ['stays closed', closed, closed, []],
  ['is ended by force', {}, { phase: 'closed', status: 'terminated' }, ['is closed: terminated']],
])('a session that %s', (_, before, now, lines) => {
  expect(told(before, now)).toEqual(lines);
});

test('a call that waits is told once, with the command that decides (L55)', () => {
  const decide = '`perdure approve s-1 1.2.0`, or `perdure deny s-1 1.2.0 --reason "why"`';
  const line = `wants bash, because: it changes files; it waits for a decision: ${decide}`;
  expect(told({ runs: 1 }, waits(pending('1.2.0')))).toEqual([line]);
  expect(told(waits(pending('1.2.0')), waits(pending('1.2.0')))).toEqual([]);
  expect(told(waits(pending('1.2.0')), waits(pending('1.2.0'), pending('1.2.1')))).toHaveLength(1);
  // Also one that waited before anybody looked: what else such a session did is past.
  expect(news(null, look(seen({ ...waits(pending('1.2.0')), startedAt: 0 })))).toEqual([
    `14:03:20 s-1 "do it" ${line}`,
  ]);
  expect(news(null, look(seen({ startedAt: 0 })))).toEqual([]);
  expect(news(null, look(seen()))).toEqual(['14:03:20 s-1 "do it" begins in /work']);
});

test('a question of the model is told with the command that answers it (L81)', () => {
  const [line] = told({}, waits(pending('1.2.0', { tool: 'ask_user', question: {} })));
  expect(line).toBe('asks a question; it waits for an answer: `perdure answer s-1 1.2.0 "your answer"`');
});

test('of an agent only what waits is told, at the session that a person began (L70)', () => {
  const own = (changes: Changes): SessionInfo => seen({ ...changes, facts: { ...facts(0), agent } }, 's-2');
  const before = look(seen(), own({}));
  expect(news(before, look(seen(), own({ phase: 'idle', runs: 1, last: last(1) })))).toEqual([]);
  expect(news(look(seen()), look(seen(), own({})))).toEqual([]);
  const there = own(waits(pending('1.0.0')));
  const asking = { session: 's-2' as SessionId, call: '1.0.0', path: ['look for it'] };
  const here = seen(waits(pending('1.1.0', { agent: asking })));
  const lines = news(before, look(there, here));
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('s-1 "do it" wants bash (agent look for it), because');
  expect(lines[0]).toContain('`perdure approve s-1 1.1.0`');
  // Where it is not listed there yet, the agent's own will do, and is not told again.
  expect(news(before, look(seen(), there))[0]).toContain('`perdure approve s-2 1.0.0`');
  expect(news(look(seen(), there), look(here, there))).toEqual([]);
});

test('of a burst some are named and the rest is counted', () => {
  const many = (changes: Changes) => look(...Array.from({ length: 48 }, (_, n) => seen(changes, `s-${n}`)));
  const lines = news(look(), many({}));
  expect(lines).toHaveLength(9);
  expect(lines.at(-1)).toBe('14:03:20 and 40 more begin');
  const waiting = news(many({}), many(waits(pending('1.2.0'))));
  expect(waiting).toHaveLength(21);
  expect(waiting.at(-1)).toBe('14:03:20 and 28 more calls wait for a person: `perdure approvals`');
});

test('words of models, titles and foreign memos are made safe, each on one line', () => {
  const evil = 'a\u001b[2J\nb\u202e';
  const session = seen({ title: evil, cwd: evil, ...waits(pending(evil, { tool: evil, reason: evil })) }, 's-1');
  const foreign = { run: 1, terminal: { reason: evil, detail: 7 }, turns: evil } as unknown as RunSummary;
  const lines = news(look(), look(session, seen({ phase: 'idle', runs: 1, last: foreign }, 's-2')));
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line).toMatch(/^[\x20-\x7e·…]+$/);
});
