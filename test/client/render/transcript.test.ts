// What `perdure show` prints of a session.
import { expect, it } from 'vitest';
import type { Entry } from '../../../activities/transcript/entries.ts';
import { hashOf } from '../../../activities/transcript/hash.ts';
import { painter } from '../../../client/render/paint.ts';
import { plain } from '../../../client/render/plain.ts';
import { transcriptText } from '../../../client/render/transcript.ts';
import { sessionTable } from '../../../client/render/session-table.ts';
import type { SessionReading } from '../../../client/session-reading.ts';
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
import { description, ended, message } from '../support.ts';

const show = (entries: readonly Entry[], changes: Partial<SessionReading> = {}): string =>
  transcriptText(painter(false), {
    description: description({ phase: 'idle', runs: 1 }),
    runs: [],
    entries,
    bodies: new Map(),
    problems: [],
    ...changes,
  });

it('tells a run from its prompt to its end, each call with its outcome', () => {
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
    '  (denied, not_run)',
    '── next turn',
    '! its last tool call was cut and did not run',
    'Two.',
    '(the reply was cut)',
    'max_turns: the limit is 2, turn 3 was not taken · 2 turns · $0 · 5 ms',
    'closed; 1 message not taken',
    '',
  ]);
});

it('shows the text of a prompt that was stored, and says of a very long one that there is more', () => {
  const hash = hashOf(Buffer.from('x'));
  const entry: Entry = { kind: 'user', id: message('m'), body: { kind: 'stored', hash, bytes: 30_000 } };
  expect(show([entry], { bodies: new Map([[hash, 'y'.repeat(30_000)]]) })).toContain('… (30000 characters in all)');
  expect(show([entry])).toContain('› (its text cannot be read)');
});

it('says of a run under way how to follow it, and shows its calls before they have outcomes', () => {
  const busy = description({ phase: 'running' });
  const text = show([reply([callBlock('toolu_1', { path: 'a' })])], { description: busy });
  expect(text).toContain('▸ read a\n  (no outcome yet)\n(a run is under way: perdure watch s-1)');
});

it('L5 marks where the model’s view begins, and says how to see all of it', () => {
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

it('says how the last run ended when the transcript cannot be read', () => {
  const last = { ...ended({ run: 3 }), head: null };
  expect(show([], { description: description({ phase: 'idle', last }) })).toContain(
    'the transcript cannot be read; run 3 ended: completed',
  );
});

it('lets nothing in a transcript act on the terminal', () => {
  const evil = '\u001b]0;x\u0007\u009b2J';
  const text = show(
    [user(evil), reply([textBlock(evil), callBlock('t', { a: evil }, evil)]), outcomes(outcome(1, evil))],
    {
      description: description({ title: evil, cwd: evil }),
    },
  );
  expect(text).toBe(plain(text));
});

it('lists sessions in columns', () => {
  const last = { ...ended({ run: 1 }), head: null };
  const sessions = [
    description({ title: 'a long\ntitle \u001b[31mred', last, runs: 12, phase: 'idle' }),
    description({ status: 'terminated', phase: 'closed', startedAt: 60_000 }),
    description({ phase: 'waiting_approval' }),
    description({ phase: 'parked', parkedUntil: Date.UTC(2030, 0, 2, 3, 4, 5) }),
  ];
  expect(sessionTable(painter(false), sessions, 3_660_000)).toBe(
    [
      'SESSION  PHASE                                 RUNS  LAST       AGE  TITLE',
      's-1      idle                                  12    completed  1 h  a long title red',
      's-1      terminated                            0     -          1 h  do it',
      's-1      waiting_approval                      0     -          1 h  do it',
      's-1      parked until 2030-01-02 03:04:05 UTC  0     -          1 h  do it',
      '',
    ].join('\n'),
  );
});
