// The end of a question or a wait goes into the transcript with the next step, which records it first.
import { describe, expect, test } from 'vitest';
import { callModel, findReply } from '../../../activities/call-model.ts';
import { extendStep } from '../../../activities/tools/call/extend-step.ts';
import { askUserTool } from '../../../activities/tools/builtin/ask-user.ts';
import { waitTool } from '../../../activities/tools/builtin/wait.ts';
import { readOutcome } from '../../../activities/tools/call/journal.ts';
import { corruptRecord, type Store } from '../../../activities/transcript/store/store.ts';
import { memoryStore } from '../../../activities/transcript/store/memory-store.ts';
import { reply, toolUse } from '../../../worker/scripted-model/index.ts';
import type { Append } from '../../../workflows/contract/activities.ts';
import type { DelegatedEnd } from '../../../workflows/contract/delegation.ts';
import { callKey } from '../../../workflows/contract/ids.ts';
import { benchDeps, fakeAttempt, SESSION, type BenchOptions } from '../../support/bench-deps.ts';

const asks = toolUse('ask_user', { question: 'Which colour?' });
const waits = toolUse('wait', { seconds: 60 });

const said = (text: string): DelegatedEnd => ({ kind: 'answered', body: { kind: 'text', text }, by: 'ann' });

/** A reply with one call is stored, and handed over; `ended` appends what came of it. */
async function handed(call: ReturnType<typeof toolUse>, options: Partial<BenchOptions> = {}) {
  const tools = [askUserTool(() => 0), waitTool(() => 0)];
  const bench = await benchDeps({ script: [reply([call]), reply('Done.')], tools, ...options });
  const answer = await callModel(bench.deps)(fakeAttempt(), bench.input());
  if (answer.kind !== 'handed_over') throw new Error(answer.kind);
  const { head, calls } = answer;
  const { config } = bench.opened;
  const key = callKey('chain', head, 0);
  const ended = (end: DelegatedEnd): readonly Append[] => [
    { kind: 'outcomes', items: [{ index: 0, key, note: 'for an earlier release', end, config }] },
  ];
  const outcome = async () => (await readOutcome(bench.deps.store, { session: SESSION, key }))?.outcome;
  const next = (end: DelegatedEnd) => bench.input({ head, append: ended(end), step: 5, iteration: 2 });
  return { bench, head, key, delegate: calls[0]?.delegate, ended, outcome, next };
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
  test('is plain when no hook is asked about its outcome, and the workflow is told so (L41 L62)', async () => {
    const { delegate } = await handed(asks);
    expect(delegate).toMatchObject({ kind: 'question', plain: true });
    expect((await handed(waits)).delegate).toEqual({ kind: 'wait', seconds: 60, message: false, plain: true });
    const hooks = { postTool: [() => undefined] };
    expect((await handed(asks, { hooks })).delegate).not.toHaveProperty('plain');
    expect((await handed(waits, { hooks })).delegate).not.toHaveProperty('plain');
  });

  test('is recorded and shown by the next model call, in the words of its tool, once (L62 L81)', async () => {
    const { bench, next, outcome, key } = await handed(asks);
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

  test('is told to watchers with the reply that made the call (L62)', async () => {
    const { bench, next } = await handed(waits);
    await callModel(bench.deps)(fakeAttempt(), next({ kind: 'waited', by: 'time' }));
    const content = 'The time is over. It is 1970-01-01T00:00:00.000Z.';
    const ends = bench.lines.filter(({ type }) => type === 'tool_end');
    expect(ends).toMatchObject([{ iteration: 1, index: 0, name: 'wait', isError: false, content }]);
  });

  test('is kept when the step that records it was stopped, or its worker is gone (L39 L47 L62)', async () => {
    const { bench, next, outcome } = await handed(asks);
    const stopped = fakeAttempt();
    stopped.abort('stop');
    await callModel(bench.deps)(stopped, next(said('red')));
    expect(await outcome()).toMatchObject({ isError: false, content: 'The user answered: red' });
    const gone = await handed(asks);
    expect((await findReply(gone.bench.deps)(fakeAttempt(), { call: gone.next(said('red')), step: 6 })).kind).toBe(
      'nothing',
    );
    const { head } = await gone.bench.commit(gone.head, gone.ended(said('red')));
    const stored = (await gone.bench.entries(head)).findLast(({ kind }) => kind === 'outcomes');
    expect(stored).toMatchObject({ outcomes: [{ isError: false, content: 'The user answered: red' }] });
  });

  test('that is damaged in the store is unknown to the model, and the run goes on (L40)', async () => {
    const store = memoryStore();
    const { bench, head, ended } = await handed(asks, { store });
    const broken = await benchDeps({ script: [], store: damaging(store, 'delegated'), tools: [askUserTool()] });
    const step = { head, append: ended(said('red')) };
    const { added } = await extendStep({ ...broken.deps, config: bench.deps.config }, fakeAttempt(), step);
    expect(added).toMatchObject([{ outcomes: [{ isError: true, log: { outcome: 'unknown' } }] }]);
    expect(JSON.stringify(added)).toContain('damaged');
  });
});
