// Boundaries, snips, collapses and shrunk results change a transcript as the model sees it.
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import { GO_ON } from '../../../store/view/notices.ts';
import { project } from '../../../store/view/project.ts';
import {
  boundary,
  callBlock,
  collapsed,
  notice,
  outcome,
  outcomes,
  reply,
  runStarted,
  snip,
  textBlock,
  thinkingBlock,
  user,
} from '../../support/transcript.ts';

const seen = (...entries: Entry[]): MessageParam[] => project(entries, new Map());
const texts = (messages: readonly MessageParam[]): string[] =>
  messages.flatMap(({ content }) =>
    typeof content === 'string' ? [content] : content.map((block) => ('text' in block ? block.text : block.type)),
  );
const long = 'long '.repeat(100);
const call = (id: string, content: string): Entry[] => [reply([callBlock(id)]), outcomes(outcome(0, content))];
const marker = (position: number): string =>
  `[An older result, about 500 characters, is no longer shown here. It was kept: the read tool opens it at path "perdure:entry/${position}".]`;

test('the model sees the last summary, the run’s prompts and what is kept; the boundary stays in the transcript (L5 L10)', () => {
  const entries = [
    user('first'),
    reply([textBlock('one')]),
    boundary('An old summary.', 2, [0]),
    user('second'),
    reply([textBlock('two')]),
    user('third'),
    boundary('Two were answered.', 5, [3]),
    reply([textBlock('three')]),
  ];
  const messages = seen(...entries);
  expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user']);
  expect(texts(messages).slice(1)).toEqual(['second', 'third', 'three', GO_ON]);
  expect(texts(messages)[0]).toMatch(/perdure:entry\/0-4.*\n.*Two were answered\./);
  expect(entries).toHaveLength(8);
});

test('a snipped message is gone, a snipped reply takes its outcomes with it, and outcomes alone are never snipped (L7)', () => {
  const entries = [user('a'), ...call('x', 'one'), user('b'), ...call('y', 'two'), user('c')];
  expect(texts(seen(...entries, snip(1, 3)))).toEqual(['a', 'tool_use', 'tool_result', 'c']);
  expect(seen(...entries, snip(2, 5))).toEqual(seen(...entries));
  expect(texts(seen(...entries, snip(0, 1, 3, 4, 6)))).toEqual([GO_ON]);
});

test('outcomes that come after their reply was snipped are not sent, and an entry still to come is not snipped (L7)', () => {
  expect(texts(seen(user('a'), reply([callBlock('x')]), snip(1, 4), outcomes(outcome(0, 'one')), user('b')))).toEqual([
    'a',
    'b',
  ]);
});

test('a reply of a trajectory with signed thinking is snipped when the trajectory is over (L7 L59)', () => {
  const open = [
    runStarted(1),
    user('a'),
    reply([thinkingBlock('hm'), callBlock('x')]),
    outcomes(outcome(1, 'one')),
    snip(2),
    ...call('y', 'two'),
  ];
  expect(texts(seen(...open))).toEqual(['a', 'thinking', 'tool_use', 'tool_result', 'tool_use', 'tool_result']);
  const over = [...open, reply([textBlock('done')])];
  expect(texts(seen(...over, user('b')))).toEqual(['a', 'tool_use', 'tool_result', 'done', 'b']);
});

test('results of replies before the mark are a short marker that names where the whole is; small and later ones stay (L8)', () => {
  const hash = hashOf(Buffer.from('whole'));
  const entries: Entry[] = [
    user('a'),
    reply([callBlock('x'), callBlock('y'), callBlock('z')]),
    outcomes(
      outcome(0, long),
      outcome(1, 'small'),
      outcome(2, long, { isError: true, whole: { hash, bytes: 99_000 } }),
    ),
    ...call('later', long),
    { kind: 'microcompact', before: 2, freed: 1 },
  ];
  const results = seen(...entries).flatMap(({ content }) =>
    (content as { type: string; content?: string }[]).filter(({ type }) => type === 'tool_result'),
  );
  expect(results).toMatchObject([
    { content: marker(2) },
    { content: 'small' },
    { content: expect.stringContaining(`perdure:result/${hash}`), is_error: true },
    { content: long },
  ]);
});

test('a staged stretch is shown in full, a committed one as a short text that names it, oldest first (L9)', () => {
  const entries: Entry[] = [
    user('a'),
    ...call('x', 'one'),
    ...call('y', 'two'),
    reply([textBlock('done')]),
    { kind: 'collapse_staged', from: 1, to: 3, short: 'Did x.' },
    { kind: 'collapse_staged', from: 3, to: 5, short: 'Did y.' },
  ];
  const full = seen(...entries.slice(0, 6));
  expect(seen(...entries)).toEqual(full);
  const one = texts(seen(...entries, { kind: 'collapse_committed', count: 1 }));
  expect(one).toEqual([
    'a',
    expect.stringMatching(/perdure:entry\/1-2".*\nDid x\./),
    'tool_use',
    'tool_result',
    'done',
    GO_ON,
  ]);
  const both: Entry[] = [
    ...entries,
    { kind: 'collapse_committed', count: 1 },
    { kind: 'collapse_committed', count: 5 },
  ];
  expect(texts(seen(...both))).toEqual(['a', expect.any(String), expect.stringContaining('Did y.'), 'done', GO_ON]);
});

test('a boundary discards what is staged, and keeps what is committed after it (L9 L10)', () => {
  const entries = [user('a'), ...call('x', 'one'), ...call('y', 'two'), ...collapsed(3, 5, 'Did y.')];
  const after: Entry[] = [
    ...entries,
    { kind: 'collapse_staged', from: 1, to: 3, short: 'Did x.' },
    boundary('So far.', 3, [0]),
  ];
  expect(texts(seen(...after, { kind: 'collapse_committed', count: 1 }))).toEqual([
    expect.stringContaining('So far.'),
    'a',
    expect.stringContaining('Did y.'),
  ]);
});

test('thinking signed for another model is left out, what the alias of the model said is kept (L19 L59)', () => {
  const from = (model: string, asked?: string): Entry => {
    const made = reply([thinkingBlock('hm'), textBlock(model)]);
    return { ...made, message: { ...made.message, model }, ...(asked === undefined ? {} : { asked }) };
  };
  const only = reply([thinkingBlock('only'), callBlock('x')]);
  const entries = [
    user('a'),
    from('m-1-20260101'),
    user('b'),
    from('m-1-0', 'm-1'),
    user('c'),
    from('m-2'),
    user('d'),
    only,
  ];
  const kinds = project(entries, new Map(), { model: { name: 'm-1' } }).map(({ content }) =>
    (content as { type: string }[]).map(({ type }) => type),
  );
  expect([kinds[1], kinds[3], kinds[5], kinds[7]]).toEqual([
    ['thinking', 'text'],
    ['thinking', 'text'],
    ['text'],
    ['tool_use'],
  ]);
});

test('what the loop has to say to the model is said, what is for people is not (L19 L30 L31 L43 L53)', () => {
  const told = [
    notice({ kind: 'model_switched', from: 'a', to: 'b', calls: ['bash', 'write'], detail: '529' }),
    notice({ kind: 'stop_hook', text: 'tests fail' }),
    notice({ kind: 'token_budget', spent: 10, budget: 100 }),
    notice({ kind: 'structured_output', problem: 'no "name"' }),
    notice({ kind: 'hook_context', hook: 'start', text: 'It is Monday.' }),
    notice({ kind: 'files_changed', paths: ['a.ts', 'b.ts'] }),
    notice({ kind: 'attachment', source: 'memory', text: 'Likes tabs.' }),
  ];
  const people = [
    notice({ kind: 'batch_summary', text: 'secret' }),
    notice({ kind: 'compaction_failed', detail: 'secret', spent: true }),
    notice({ kind: 'hook_failed', hook: 'secret', detail: 'secret' }),
  ];
  const said = texts(seen(...told, ...people)).join('\n');
  for (const word of [
    'bash, write',
    'tests fail',
    '100 output tokens',
    'no "name"',
    'Monday',
    'a.ts\nb.ts',
    'Likes tabs.',
  ]) {
    expect(said).toContain(word);
  }
  expect(said).not.toContain('secret');
});

test('the marks of one turn stay as they are on the next: the prefix is the same to the byte (L22)', () => {
  const entries: Entry[] = [
    user('a'),
    ...call('x', long),
    ...call('y', long),
    ...call('z', long),
    ...collapsed(3, 5, 'Did y.'),
    { kind: 'microcompact', before: 2, freed: 1 },
    snip(5),
    boundary('So far.', 1, [0]),
    user('b'),
  ];
  let before = seen(...entries);
  for (const more of [call('p', long), call('q', long), [user('c')]]) {
    entries.push(...more);
    const now = seen(...entries);
    expect(JSON.stringify(now.slice(0, before.length - 1))).toBe(JSON.stringify(before.slice(0, -1)));
    before = now;
  }
});
