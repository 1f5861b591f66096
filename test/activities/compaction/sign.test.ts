// The API sums up its own conversation (L10): what the model sees then, what it costs, and what
// comes of a server that cannot. By "Compaction" of the API's documents, as of 2026-11-26, against
// the strict scripted model.
import { expect, test } from 'vitest';
import { compact } from '../../../activities/compaction/compact.ts';
import { readOutcome } from '../../../activities/calls/journal.ts';
import type { Entry } from '../../../store/log/entries.ts';
import { createTranscripts } from '../../../store/transcript/transcripts.ts';
import {
  fault,
  reply,
  text,
  thinking,
  toolUse,
  type ParsedRequest,
  type Reply,
} from '../../../scripted-model/index.ts';
import type { Append, CompactionResult } from '../../../workflows/contract/activities.ts';
import type { Hash } from '../../../workflows/contract/ids.ts';
import type { RunOptions } from '../../../workflows/contract/session.ts';
import { asksForSummary } from '../../support/asks-for-summary.ts';
import { benchDeps, fakeAttempt, prompt, SESSION } from '../../support/bench-deps.ts';

/** So many that the newest is a small part of them. */
const TURNS = 9;
const MODEL = 'claude-sonnet-5-5';
const summary = reply('They looked nine times.', { usage: { input_tokens: 9_000, output_tokens: 400 } });

/**
 * A run of calls, each thought about, and a compaction. `summed`: the answers to questions for a
 * summary, the last of them again.
 */
async function looking(summed: readonly Reply[] = [summary], run: Partial<RunOptions> = {}) {
  let [turn, asked] = [0, 0];
  const next: Reply[] = [];
  const script = (request: ParsedRequest): Reply => {
    const [first] = next.splice(0, 1);
    if (first) return first;
    if (asksForSummary(request)) return summed[Math.min(asked++, summed.length - 1)] as Reply;
    turn += 1;
    return turn > TURNS ? reply([thinking('Enough.'), text('Done.')]) : looked(turn);
  };
  const bench = await benchDeps({ script, run: { model: MODEL, ...run } });
  let head: Hash | null = null;
  let step = 10;
  const call = async (append: readonly Append[] = [], model = 0): Promise<void> => {
    const result = await bench.call(fakeAttempt(), { head, append, step: (step += 1), iteration: step, model });
    if (!('head' in result)) throw new Error(JSON.stringify(result));
    ({ head } = result);
  };
  const sumUp = async (attempt = fakeAttempt(), model = 0): Promise<CompactionResult> => {
    const input = { head, append: [], config: bench.opened.config, step: (step += 1), iteration: step, model };
    const result = await compact(bench.deps)(attempt, { ...input, trigger: 'reactive' });
    if ('head' in result && result.head !== undefined) ({ head } = result);
    return result;
  };
  await call([prompt('Look around.')]);
  for (let n = 1; n < TURNS; n += 1) await call();
  return {
    ...bench,
    /** What is answered before anything else. */
    next,
    call,
    sumUp,
    head: () => head as Hash,
    entries: () => bench.entries(head as Hash),
    last: () => bench.bodies().at(-1) as ParsedRequest,
  };
}

function looked(n: number): Reply {
  return reply([thinking(`Thought ${n}. ${'Long. '.repeat(100)}`), text(`Look ${n}.`), toolUse('look', { n })]);
}

const boundaries = (entries: readonly Entry[]) =>
  entries.flatMap((entry) => (entry.kind === 'boundary' ? [entry] : []));
const epochs = (entries: readonly Entry[]) => entries.filter(({ kind }) => kind === 'epoch');

test('its block stands for what was before a reply, and what the model thought since is sent on (L5 L10 L59)', async () => {
  const h = await looking();
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  await h.call();
  const [block, kept, outcome] = h.last().messages as readonly { role: string; content: readonly object[] }[];
  expect(block).toMatchObject({
    role: 'assistant',
    content: [{ type: 'compaction', content: 'They looked nine times.' }],
  });
  expect(kept).toMatchObject({
    role: 'assistant',
    content: [{ type: 'thinking' }, { text: 'Look 9.' }, { name: 'look' }],
  });
  expect(outcome?.content).toMatchObject([
    { type: 'tool_result' },
    { text: expect.stringContaining('The read tool opens all of it at path "perdure:entry/0-') },
    { text: 'Look around.' },
  ]);
  expect(epochs(await h.entries())).toHaveLength(1);
  const betas = h.model.requests.map(({ headers }) => String(headers['anthropic-beta']).includes('compact-2026-09-04'));
  expect(betas).toEqual([...Array<boolean>(TURNS).fill(false), true, true]);
  expect(h.model.problems).toEqual([]);
});

test('it is asked with what the model was sent for that reply, and the rest is read from the cache (L22)', async () => {
  const h = await looking();
  await h.sumUp();
  const [asked, before] = [h.last(), h.bodies()[TURNS - 1] as ParsedRequest];
  const plain = (value: unknown): unknown =>
    JSON.parse(JSON.stringify(value, (key, part: unknown) => (key === 'cache_control' ? undefined : part)));
  for (const part of ['system', 'tools', 'messages', 'model'] as const)
    expect(plain(asked[part])).toEqual(plain(before[part]));
  expect(asked.compaction).toMatchObject({ type: 'summarize', instructions: expect.stringContaining('1. Goals') });
});

test('it is paid at the prices of the model that was asked (L51)', async () => {
  const h = await looking();
  const result = await h.sumUp();
  // 2 and 10 US dollars per million tokens.
  expect(result.spend).toMatchObject({ usage: { input: 9_000, output: 400 }, usd: expect.closeTo(0.022, 3) });
});

test('it is summed up again with all that came after it, and what is asked for is carried on', async () => {
  const h = await looking();
  await h.sumUp();
  await h.call();
  await h.call([prompt('And now?')]);
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  await h.call([prompt('And then?')]);
  expect(boundaries(await h.entries()).map(({ signed }) => signed?.type)).toEqual(['compaction', 'compaction']);
  expect(JSON.stringify(h.last().messages.at(-1))).toContain('Look around.');
  expect(h.model.problems).toEqual([]);
});

test('a worker that reads no further back than the summary sends the same (L5)', async () => {
  const h = await looking();
  await h.sumUp();
  await h.call();
  const cold = createTranscripts(
    h.deps.store,
    async (session, key) => (await readOutcome(h.deps.store, { session, key }))?.outcome ?? null,
  );
  const model = { name: MODEL, checksPrefix: true, compaction: true, thinking: {} };
  const seen = (transcripts: typeof cold) =>
    transcripts.extend(SESSION, h.head(), []).then((extended) => transcripts.messages(extended, model));
  expect(await seen(cold)).toEqual(await seen(h.deps.transcripts));
});

test.each<[string, Reply]>([
  ['makes no summary', reply([toolUse('look', {})])],
  ['declines to', reply('', { stop_reason: 'refusal' })],
  ['knows of none', fault({ status: 400, message: 'compaction: Extra inputs are not permitted' })],
])('of a model that %s ours is made, in words (L10)', async (_, answer) => {
  const h = await looking([answer, reply('In our words.')]);
  expect(await h.sumUp()).toMatchObject({ kind: 'compacted' });
  await h.call();
  const [first] = h.last().messages;
  expect(JSON.stringify(first)).toContain('In our words.');
  expect(JSON.stringify(h.last())).not.toContain('Thought 9.');
  expect(h.model.problems).toEqual([]);
});

test('a server that knows of none is asked once, and that is said once', async () => {
  const unknown = fault({ status: 400, message: 'compaction: Extra inputs are not permitted' });
  const h = await looking([unknown, reply('In our words.')]);
  await h.sumUp();
  await h.call();
  await h.call([prompt('Go on.')]);
  await h.sumUp();
  const asked = h.bodies().filter((body) => (body as ParsedRequest).compaction);
  expect([asked.length, h.warnings.length]).toEqual([1, 1]);
  expect(h.warnings[0]).toMatch(/the server of claude-sonnet-5-5 makes no summaries: ours are made instead/);
});

test('one that is busy is asked once more after a wait; then ours is made (L14)', async () => {
  const busy = fault({ status: 529, errorCode: 'compaction_unavailable' });
  const h = await looking([busy, busy, reply('In our words.')]);
  const first = fakeAttempt();
  await expect(h.sumUp(first)).rejects.toThrow('529');
  expect(await h.sumUp(fakeAttempt(2, first.left))).toMatchObject({ kind: 'compacted' });
  expect(boundaries(await h.entries())).toMatchObject([{ summary: 'In our words.' }]);
});

test('a model that takes no such block reads the summary in words, and one that does goes on with it (L19)', async () => {
  const h = await looking([summary], { fallbackModels: ['claude-haiku-4-5'] });
  await h.sumUp();
  await h.call([], 1);
  expect(h.last().messages[0]).toMatchObject({
    role: 'user',
    content: [{ text: expect.stringContaining('nine times') }],
  });
  await h.call([prompt('Go on.')]);
  expect(h.last().messages[0]).toMatchObject({ content: [{ type: 'compaction' }] });
  expect(h.model.problems).toEqual([]);
});

test('a summary of a fallback that binds nothing keeps none of what the first model thought (L19 L59)', async () => {
  const h = await looking([summary], { fallbackModels: ['claude-opus-5'] });
  await h.sumUp(fakeAttempt(), 1);
  await h.call();
  expect(h.last().messages[0]).toMatchObject({ content: [{ type: 'compaction' }] });
  expect(JSON.stringify(h.last())).not.toContain('Thought 9.');
  expect([h.model.problems, epochs(await h.entries()).length]).toEqual([[], 1]);
});

test('a summary that another account has signed is sent in words, for good, without earlier thinking (L59)', async () => {
  const h = await looking();
  await h.sumUp();
  const refused = fault({
    status: 400,
    message: 'compaction: invalid signature',
    errorCode: 'compaction_signature_invalid',
  });
  h.next.push(refused, reply([thinking('New.'), text('Done.')]), reply('Again.'));
  await h.call();
  await h.call([prompt('Go on.')]);
  const sent = h
    .bodies()
    .slice(-3)
    .map((body) => JSON.stringify(body));
  expect(
    sent.map((body) => [body.includes('"type":"compaction"'), body.includes('Thought 9.'), body.includes('New.')]),
  ).toEqual([
    [true, true, false],
    [false, false, false],
    [false, false, true],
  ]);
  expect(h.warnings).toEqual([expect.stringContaining('does not take the summary that the API has signed')]);
});
