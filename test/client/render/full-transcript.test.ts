// `perdure show --full` and `--json`: all of a session, whatever the model still sees of it.
import { expect, test } from 'vitest';
import type { Entry } from '../../../store/log/entries.ts';
import { hashOf } from '../../../store/values/store.ts';
import { memoryStore } from '../../support/memory-store.ts';
import { fullTranscript } from '../../../client/render/full-transcript.ts';
import { createPaint } from '../../../client/paint.ts';
import { sessionJson, readWholeResult } from '../../../client/sessions/dump.ts';
import type { SessionReading } from '../../../client/sessions/read.ts';
import {
  callBlock,
  notice,
  outcome,
  outcomes,
  reply,
  runEnded,
  runStarted,
  textBlock,
  thinkingBlock,
  transition,
  user,
} from '../../support/transcript.ts';
import { description, message } from '../support.ts';

const long = `${'result line\n'.repeat(6_000)}\u001b[31mred\ufeff é`;
const evil = '\u001b[2Jtext  with\r\nits own bytes ';

function reading(entries: readonly Entry[], changes: Partial<SessionReading> = {}): SessionReading {
  return {
    description: description({ phase: 'idle', runs: 1 }),
    runs: [],
    entries,
    bodies: new Map(),
    first: 0,
    problems: [],
    ...changes,
  };
}

async function full(
  entries: readonly Entry[],
  { bodies = new Map(), exact = (text: string) => text, store = memoryStore() } = {},
) {
  const pieces: string[] = [];
  const all = fullTranscript({
    paint: createPaint(false),
    reading: reading(entries, { bodies }),
    whole: readWholeResult(store),
    exact,
  });
  for await (const piece of all) pieces.push(piece);
  return pieces.join('');
}

test('prints what was compacted and the whole of what was sent as a preview, byte for byte (L5 L6)', async () => {
  const store = memoryStore();
  const hash = await store.put(Buffer.from(long));
  const prompt = await store.put(Buffer.from(evil));
  const whole = { hash, bytes: Buffer.byteLength(long) };
  const text = await full(
    [
      runStarted(1),
      { kind: 'user', id: message('m'), body: { kind: 'stored', hash: prompt, bytes: 9 } },
      reply([thinkingBlock('Hm.'), textBlock(evil), callBlock('toolu_1', { a: [1, { b: 'x' }] })]),
      outcomes(outcome(2, 'a preview', { whole, toolUseId: 'toolu_1' })),
      transition(1, 'next_turn'),
      { kind: 'boundary', trigger: 'auto', summary: 'It looked.', prompts: [1], from: 4, before: 9_000, after: 100 },
      notice({ kind: 'stop_hook', text: 'one\ntwo' }),
      reply([textBlock('Done.')], { fate: 'cut' }),
      runEnded(1),
    ],
    { store, bodies: new Map([[prompt, evil]]) },
  );
  expect(text).toBe(
    [
      '── 0 run 1',
      `── 1 prompt\n${evil}`,
      '── 2 reply',
      '── 2 thinking\nHm.',
      evil,
      '── 2 call read (toolu_1)\n{"a":[1,{"b":"x"}]}',
      `── 3 result of read (toolu_1)\n${long}`,
      '── 4 next turn',
      '── 5 compacted, about 9,000 → 100 tokens: the model sees a summary, all from entry 4 on and 1 prompt before; the full text: perdure show s-1 --full',
      '── 5 summary\nIt looked.',
      '── 6 notice: stop_hook\none\ntwo',
      '── 7 reply (cut)',
      'Done.',
      '── 8 completed · 2 turns · $0 · 5 ms',
      '',
    ].join('\n'),
  );
});

test('prints what the model was told before the conversation, and of changes, whole (L44 L58)', async () => {
  const text = `${'Be kind. '.repeat(50)}THE END`;
  const tool = { name: 'aim', description: 'Aims.', input_schema: { type: 'object' as const } };
  const told = { kind: 'preamble_changed', parts: [{ name: 'the instructions', text }] } as const;
  const changed = notice({ ...told, ended: ['the date'], toolsGone: ['look'], toolsBack: ['touch'], toolsNew: [tool] });
  const epoch = { kind: 'epoch', why: 'first', system: [{ name: 'the instructions', text }], tools: [tool] } as const;
  const definition = '{"name":"aim","description":"Aims.","input_schema":{"type":"object"}}';
  expect(await full([epoch, changed])).toBe(
    [
      `── 0 system prompt\n${text}`,
      `── 0 tools\n${definition}`,
      `── 1 notice: preamble_changed\nthe instructions:\n${text}`,
      'no longer holds: the date',
      'tools gone: look',
      'tools back: touch',
      `new tools:\n${definition}\n`,
    ].join('\n'),
  );
});

test('says of results in words how their calls came out', async () => {
  const log = { key: null, name: 'bash', decision: 'allowed', duration: 1, outcome: 'error' } as const;
  const lost = { ...log, outcome: 'unknown' } as const;
  const results = outcomes(outcome(0, 'a', { isError: true, log }), outcome(1, 'b', { isError: true, log: lost }));
  expect(await full([results])).toBe(
    '── 0 result of bash (call-0): failed\na\n── 0 result of bash (call-1): outcome unknown\nb\n',
  );
});

test('lets no text act on a terminal', async () => {
  const text = await full([user(evil)], { exact: (given) => given.replaceAll('\u001b', '') });
  expect(text).not.toContain('\u001b');
});

test('says of a whole result that it cannot be read, and prints the preview', async () => {
  const whole = { hash: hashOf(Buffer.from('gone')), bytes: 4 };
  const text = await full([outcomes(outcome(0, 'a preview', { whole }))]);
  expect(text).toMatch(/\(the whole result cannot be read: .*\)\na preview\n$/);
});

test('gives one object a line as JSON: the session, each entry with its position, what is damaged', async () => {
  const store = memoryStore();
  const hash = await store.put(Buffer.from('all of it'));
  const entries = [user('hi'), outcomes(outcome(0, 'a preview', { whole: { hash, bytes: 9 } }))];
  const given = reading(entries, { problems: [{ entry: 1, problem: 'torn' }] });
  const lines = async (whole: boolean) => {
    const found: object[] = [];
    for await (const line of sessionJson(given, whole ? readWholeResult(store) : null)) found.push(line);
    return found;
  };
  expect(await lines(false)).toMatchObject([
    { kind: 'session', sessionId: 's-1', phase: 'idle', results: [] },
    { position: 0, ...entries[0] },
    { position: 1, ...entries[1] },
    { kind: 'problem', position: 1, problem: 'torn' },
  ]);
  expect((await lines(true))[2]).toMatchObject({ outcomes: [{ content: 'a preview', whole: { text: 'all of it' } }] });
});
