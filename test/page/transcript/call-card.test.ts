// The row of a call says what became of it: who refused it, why it did not run, how its agent ended.
import { expect, test } from 'vitest';
import { countTouchedFiles, listTouchedFiles } from '../../../client/sessions/history/changed-files.ts';
import { transcriptItems } from '../../../client/sessions/history/items.ts';
import { htmlOf } from '../../../page/layout.tsx';
import { AgentState } from '../../../page/session/head.tsx';
import { CallCard, type ShownCall } from '../../../page/transcript/call-card.tsx';
import type { Outcome } from '../../../store/log/entries.ts';
import type { Terminal } from '../../../workflows/contract/loop.ts';
import { description, session } from '../../client/support.ts';
import { callBlock, outcome, outcomes, reply, runStarted } from '../../support/transcript.ts';

const edit = { path: 'a.ts', old_string: 'one', new_string: 'two' };
const textOf = (html: string): string =>
  html
    .replaceAll(/<svg.*?<\/svg>|<[^>]+>/gs, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
const row = (call: Partial<ShownCall>): { readonly html: string; readonly text: string } => {
  const html = htmlOf(CallCard({ call: { anchor: '1-1-0', name: 'edit', input: edit, outcome: null, ...call } }));
  return { html, text: textOf(html.split('</summary>')[0] ?? '') };
};

const ended = (content: string, log: Partial<Outcome['log']>): Outcome =>
  outcome(0, content, {
    isError: true,
    log: { key: null, name: 'edit', decision: 'allowed', duration: 0, outcome: 'error', ...log },
  });

test.each([
  [
    'denied by ana',
    ended('Not run: edit was denied by a person', { decision: 'denied', outcome: 'not_run', deniedBy: 'ana' }),
  ],
  ['denied', ended('Not run: denied by a rule', { decision: 'denied', outcome: 'not_run' })],
  [
    'not run: old_string was not found',
    ended('Not run: old_string was not found\nread it again', { outcome: 'not_run' }),
  ],
  ['cancelled', ended('Cancelled.', { outcome: 'cancelled' })],
  ['outcome unknown', ended('Outcome unknown', { outcome: 'unknown' })],
  ['failed', ended('old_string not found', {})],
])('the row of a call that changed nothing says "%s", without the lines that it asked for (O8)', (words, failed) => {
  const { text, html } = row({ outcome: failed });
  expect(text.replace(/ · .*/, '')).toBe(`edit a.ts ${words}`);
  expect(html).toMatch(/^<details class="call bad"/);
});

test('the row of an edit that was made counts its lines (O8)', () => {
  const made = ended('edited', { outcome: 'ok' });
  expect(row({ outcome: { ...made, isError: false } }).text).toMatch(/^edit a\.ts \+1 −1/);
});

const agent = (terminal: Terminal | null, more = {}) =>
  description({
    status: 'completed',
    phase: 'closed',
    startedAt: 0,
    closedAt: 1_000,
    title: 'Audit',
    facts: { turns: 2, tokens: 5, cents: 3, agent: { type: 'x', parent: session, root: session, depth: 1 } },
    last: terminal && { run: 1, terminal, turns: 2, iterations: 2, head: null, messages: [] },
    ...more,
  });

test.each([
  ['ok', 'completed', agent({ reason: 'completed' })],
  ['fail', 'model error: 400: no', agent({ reason: 'model_error', detail: '400: no' })],
  ['fail', 'terminated', agent(null, { status: 'terminated' })],
  ['idle', 'interrupted', agent({ reason: 'aborted_streaming', by: 'interrupt' })],
  ['wait', 'waits for you', agent(null, { status: 'open', phase: 'waiting_approval', closedAt: null })],
  ['run', 'running', agent(null, { status: 'open', phase: 'running', closedAt: null })],
] as const)(
  'an agent is shown as %s where it ended as "%s", on its row and in the list of agents (O8)',
  (tone, words, one) => {
    expect(htmlOf(AgentState({ agent: one, now: 0 }))).toContain(`tone-${tone}`);
    expect(textOf(htmlOf(AgentState({ agent: one, now: 0 })))).toBe(words);
    const { html, text } = row({ name: 'agent', input: { prompt: 'x' }, agent: one });
    const kinds = { ok: 'ok', fail: 'bad', idle: 'open', wait: 'waiting', run: 'running' };
    expect(html).toMatch(new RegExp(`^<details class="call ${kinds[tone]}"`));
    expect(text.includes(words)).toBe(tone !== 'ok');
  },
);

test('a call that failed, was refused, or waits for a decision has changed no file (O8)', () => {
  const entries = [
    runStarted(1),
    reply([
      callBlock('a', edit, 'edit'),
      callBlock('b', { ...edit, path: 'b.ts' }, 'edit'),
      callBlock('c', { ...edit, path: 'c.ts' }, 'edit'),
    ]),
    outcomes(outcome(0, 'edited'), { ...ended('no', { decision: 'denied' }), index: 1 }),
  ];
  const items = transcriptItems();
  items.add(entries);
  expect(listTouchedFiles(items.all).map(({ path }) => path)).toEqual(['a.ts']);
  expect(countTouchedFiles(items.all)).toBe(1);
  items.add([outcomes({ ...outcome(2, 'edited') })]);
  expect(listTouchedFiles(items.all).map(({ path }) => path)).toEqual(['a.ts', 'c.ts']);
  expect(countTouchedFiles(items.all)).toBe(2);
});
