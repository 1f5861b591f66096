// The end of a question or a wait goes into the transcript with the next step, which records it
// first.
import { describe, expect, test } from 'vitest';
import { callModel } from '../../activities/call-model.ts';
import { findReply } from '../../activities/find-reply.ts';
import { collapse } from '../../activities/compaction/collapse.ts';
import { compact } from '../../activities/compaction/compact.ts';
import type { Deps } from '../../activities/deps.ts';
import { recordEnds } from '../../activities/calls/record-ends.ts';
import { createAskUserTool, createWaitTool } from '../../tools/builtin/builtin-tools.ts';
import { readOutcome } from '../../activities/calls/journal.ts';
import { corruptRecord, type Store } from '../../store/values/store.ts';
import { memoryStore } from '../support/memory-store.ts';
import { reply, toolUse } from '../../scripted-model/index.ts';
import type { Append, AppendingStep } from '../../workflows/contract/activities.ts';
import type { DelegatedEnd } from '../../workflows/contract/delegation.ts';
import { callKey } from '../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, SESSION, type BenchOptions } from '../support/bench-deps.ts';

const asks = toolUse('ask_user', { question: 'Which colour?' });
const waits = toolUse('wait', { seconds: 60 });

const said = (text: string): DelegatedEnd => ({ kind: 'answered', body: { kind: 'text', text }, by: 'ann' });

/** A reply with one call is stored, and handed over; `ended` appends what came of it. */
async function handed(calls: ReturnType<typeof toolUse>[], options: Partial<BenchOptions> = {}) {
  const tools = [createAskUserTool(() => 0), createWaitTool(() => 0)];
  const bench = await benchDeps({ script: [reply(calls), reply('Done.')], tools, ...options });
  const answer = await callModel(bench.deps)(fakeAttempt(), bench.input());
  if (answer.kind !== 'handed_over') throw new Error(answer.kind);
  const { head } = answer;
  const { config } = bench.opened;
  const key = callKey('chain', head, 0);
  const ended = (end: DelegatedEnd): readonly Append[] => [
    { kind: 'outcomes', items: [{ index: 0, key, note: 'for an earlier release', ended: { end, config, step: 4 } }] },
  ];
  const outcome = async () => (await readOutcome(bench.deps.store, { session: SESSION, key }))?.outcome;
  const next = (end: DelegatedEnd) => bench.input({ head, append: ended(end), step: 5, iteration: 2 });
  return { bench, head, key, handed: answer.calls, ended, outcome, next };
}

/** Some records are damaged. */
function damaging(store: Store, part: string): Store {
  return {
    ...store,
    read: async (key) => {
      if (key.includes(part)) throw corruptRecord(key, 'here', 'it is no JSON');
      return await store.read(key);
    },
  };
}

describe('the end of a question or a wait', () => {
  test('goes that way when no hook is asked about it, and no call of its reply is left (L41 L62)', async () => {
    const plain = async (calls: ReturnType<typeof toolUse>[], options: Partial<BenchOptions> = {}) =>
      (await handed(calls, options)).handed.map((call) => call.plain ?? false);
    expect(await plain([asks])).toEqual([true]);
    expect(await plain([waits])).toEqual([true]);
    expect(await plain([asks, waits])).toEqual([false, false]);
    expect(await plain([asks], { hooks: { postTool: [() => undefined] } })).toEqual([false]);
  });

  test('is recorded and shown by the next model call, in the words of its tool, once (L62 L81)', async () => {
    const { bench, next, outcome, key } = await handed([asks]);
    await callModel(bench.deps)(fakeAttempt(), next(said('red')));
    const shown = JSON.stringify(bench.bodies()[1]);
    expect(shown).toContain('The user answered: red');
    expect(shown).not.toContain('is_error":true');
    const recorded = await outcome();
    expect(recorded).toMatchObject({
      isError: false,
      log: { key, name: 'ask_user', decision: 'allowed', outcome: 'ok' },
    });
    await callModel(bench.deps)(fakeAttempt(2), next(said('red')));
    expect(await outcome()).toEqual(recorded);
    expect(bench.bodies()).toHaveLength(2);
  });

  test('is told to watchers once, before the step that records it, and stays told when that dies (L62 Q11)', async () => {
    const { bench, next } = await handed([waits]);
    const opened: unknown[] = [];
    const { live } = bench.deps;
    const deps: typeof bench.deps = {
      ...bench.deps,
      live: { ...live, open: (of) => (opened.push(of), live.open(of)) },
    };
    const over = next({ kind: 'waited', by: 'time' });
    const died = fakeAttempt();
    died.abort('deploy');
    await expect(callModel(deps)(died, over)).rejects.toThrow('given up');
    await callModel(deps)(fakeAttempt(2), over);
    expect(opened).toMatchObject([
      { step: 4, activity: 'runTool', attempt: 1 },
      { step: 5, activity: 'callModel', attempt: 1 },
      { step: 5, activity: 'callModel', attempt: 2 },
    ]);
    const content = 'The time is over. It is 1970-01-01T00:00:00.000Z.';
    const [, end, fate] = bench.lines.slice(bench.lines.findLastIndex(({ type }) => type === 'tool_start'));
    expect(end).toMatchObject({ type: 'tool_end', iteration: 1, index: 0, name: 'wait', isError: false, content });
    expect(fate).toEqual({ type: 'fate', fate: 'done' });
    expect(bench.lines.filter(({ type }) => type === 'tool_end')).toHaveLength(1);
  });

  test('is recorded without the hooks that a worker has got meanwhile (L41)', async () => {
    const { bench, next, outcome } = await handed([asks]);
    const asked: unknown[] = [];
    const late = await benchDeps({
      script: [],
      store: bench.deps.store,
      tools: [createAskUserTool()],
      hooks: { postTool: [(call) => void asked.push(call)] },
    });
    await recordEnds(late.deps, fakeAttempt(), next(said('red')));
    expect(await outcome()).toMatchObject({ content: 'The user answered: red' });
    expect(asked).toEqual([]);
    expect(late.lines.filter(({ type }) => type.startsWith('hook'))).toEqual([]);
  });

  test('is kept when the step that records it was stopped, or its worker is gone (L39 L47 L62)', async () => {
    const { bench, next, outcome } = await handed([asks]);
    const stopped = fakeAttempt();
    stopped.abort('stop');
    await callModel(bench.deps)(stopped, next(said('red')));
    expect(await outcome()).toMatchObject({ isError: false, content: 'The user answered: red' });
    const gone = await handed([asks]);
    expect((await findReply(gone.bench.deps)(fakeAttempt(), { call: gone.next(said('red')), step: 6 })).kind).toBe(
      'nothing',
    );
    const { head } = await gone.bench.commit(gone.head, gone.ended(said('red')));
    const stored = (await gone.bench.entries(head)).findLast(({ kind }) => kind === 'outcomes');
    expect(stored).toMatchObject({ outcomes: [{ isError: false, content: 'The user answered: red' }] });
  });

  test.each([
    ['compact', (deps: Deps, step: AppendingStep) => compact(deps)(fakeAttempt(), { ...step, trigger: 'auto' })],
    ['collapse', (deps: Deps, step: AppendingStep) => collapse(deps)(fakeAttempt(), step)],
  ] as const)('is recorded by %s, where the context is made smaller first (L9 L10 L62)', async (_name, make) => {
    const { bench, next, outcome } = await handed([asks]);
    const { head, append, config, step, iteration } = next(said('red'));
    await make(bench.deps, { head, append, config, step, iteration });
    expect(await outcome()).toMatchObject({ isError: false, content: 'The user answered: red' });
  });

  test('is no failed call to who reads it before it is recorded (L42)', async () => {
    const { bench, head, ended, outcome } = await handed([asks]);
    const { added } = await bench.deps.transcripts.extend(SESSION, head, ended(said('red')));
    expect(added).toMatchObject([{ outcomes: [{ isError: false, content: 'for an earlier release' }] }]);
    expect(await outcome()).toBeUndefined();
  });

  test('that is damaged in the store is unknown to the model, and the run goes on (L40)', async () => {
    const store = memoryStore();
    const { bench, head, ended } = await handed([asks], { store });
    const broken = await benchDeps({ script: [], store: damaging(store, 'delegated'), tools: [createAskUserTool()] });
    const step = { head, append: ended(said('red')) };
    const append = await recordEnds({ ...broken.deps, config: bench.deps.config }, fakeAttempt(), step);
    expect(append).toMatchObject([{ items: [{ index: 0, unknown: true }] }]);
    expect(append[0]).not.toHaveProperty('items.0.key');
    expect(JSON.stringify(append)).toContain('damaged');
  });
});
