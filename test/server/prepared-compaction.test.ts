// A compaction that the API makes while the run goes on (L9), on a real server.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  fault,
  gate,
  reply,
  text,
  thinking,
  toolUse,
  type ParsedRequest,
  type Reply,
} from '../../scripted-model/index.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness, type Harness, type HarnessOptions, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';

const MODEL = 'claude-sonnet-5-5';
const config = { models: { [MODEL]: { window: 30_000 } }, batchSummaries: false, memory: false };

/** `used`: tokens in context. */
function look(n: number, used: number, path = 'a.txt'): Reply {
  const usage = { input_tokens: used, output_tokens: 10, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  return reply([thinking(`Thought ${n}.`), text(`Look ${n}.`), toolUse('read', { path })], { usage });
}

const beginsWithSummary = ({ messages: [first] }: ParsedRequest): boolean =>
  JSON.stringify(first).includes('"type":"compaction"');

async function looking(script: (request: ParsedRequest) => Reply | Promise<Reply>, more: Partial<HarnessOptions> = {}) {
  const h = await harness({ script, worker: { config }, ...more });
  writeFileSync(join(h.cwd, 'a.txt'), 'hello '.repeat(1_000));
  return h;
}

async function atWork({ client }: Harness, { id }: OpenSession): Promise<readonly string[]> {
  const { pendingActivities } = (await client.workflow.getHandle(id).describe()).raw;
  return (pendingActivities ?? []).map(({ activityType }) => String(activityType?.name));
}

const boundaries = async (session: OpenSession) =>
  (await session.entries()).flatMap((entry) => (entry.kind === 'boundary' ? [entry] : []));

/**
 * The summary is answered when another call of the run has begun meanwhile, of which none fills the
 * window.
 */
function overlapping() {
  let calls = 0;
  return async (request: ParsedRequest): Promise<Reply> => {
    if (asksForSummary(request)) {
      const before = calls;
      await until(() => calls > before);
      return reply('They looked.', { usage: { input_tokens: 22_000, output_tokens: 10 } });
    }
    if (beginsWithSummary(request)) return reply('Done.');
    calls += 1;
    return look(calls, Math.min(2_500 * calls, 22_000));
  };
}

test('is not begun where the limit would not pay for it and the calls beside it (L51)', async () => {
  const h = await looking(overlapping());
  const session = await h.open('Look around.', { model: MODEL, maxTokens: 115_000 });
  const { terminal } = await session.ended(1);
  // Nine calls leave 2,910, and the tenth takes 22,010.
  expect(terminal).toEqual({ reason: 'budget_exceeded', limitTokens: 115_000, spentTokens: 134_100 });
  expect(h.bodies().filter(asksForSummary).length).toBe(0);
  await keepHistory('a compaction is not prepared where the limit would not pay for it', session.handle);
});

test('is made while the model answers, and the next request begins with it; nothing thought is lost (L9 L59)', async () => {
  const h = await looking(overlapping());
  const session = await h.open('Look around.', { model: MODEL });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(await boundaries(session)).toMatchObject([
    { trigger: 'auto', signed: { type: 'compaction' }, keepsThinking: true },
  ]);
  expect(h.bodies().filter(asksForSummary)).toHaveLength(1);
  await keepHistory('a prepared compaction is taken', session.handle);
  const live = h.liveText(session.id);
  expect(live).toContain('"type":"compaction_end"');
  expect(h.model.problems).toEqual([]);
});

test('one that a snip comes before is left out, and nothing of the task budget is gone (L7 L11)', async () => {
  let calls = 0;
  const h: Harness = await looking(async (request) => {
    if (asksForSummary(request)) return reply('They looked.', { usage: { input_tokens: 22_000, output_tokens: 10 } });
    calls += 1;
    if (calls === 10) {
      // The summary is made by now: what it sums up changes before it can be taken.
      await until(async () => !(await atWork(h, session)).includes('perdure.prepareCompaction'));
      await session.handle.signal(SIGNALS.snip, { entries: [3] });
    }
    return calls === 13 ? reply('Done.') : look(calls, Math.min(2_500 * calls, 22_000));
  });
  const session = await h.open('Look around.', { model: MODEL, taskBudget: 900_000 });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(await boundaries(session)).toEqual([]);
  expect(h.bodies().filter(asksForSummary)).toHaveLength(1);
  const budget = { type: 'tokens', total: 900_000 };
  const budgets = h.bodies().map(({ output_config: output }) => (output as { task_budget?: unknown }).task_budget);
  expect(budgets).toEqual(budgets.map(() => budget));
  expect(h.model.problems).toEqual([]);
  await keepHistory('a prepared compaction is left out after a snip', session.handle);
});

test('a run that is handed over goes on with it (L4)', async () => {
  const h = await looking(overlapping(), { handover: { events: 30, signals: 1_000 } });
  const session = await h.open('Look around.', { model: MODEL });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(await boundaries(session)).toHaveLength(1);
  expect(h.bodies().filter(asksForSummary)).toHaveLength(1);
  expect(h.model.problems).toEqual([]);
});

test('where the window is nearly full it is waited for, and no other is made (L10)', async () => {
  const held = gate();
  let calls = 0;
  const h = await looking(async (request) => {
    if (asksForSummary(request)) {
      await held.hold;
      return reply('They looked.');
    }
    if (beginsWithSummary(request)) return reply('Done.');
    calls += 1;
    return look(calls, 2_500 * calls);
  });
  const session = await h.open('Look around.', { model: MODEL });
  await until(async () => JSON.stringify(await atWork(h, session)) === '["perdure.prepareCompaction"]');
  const before = calls;
  held.release();
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(calls).toBe(before);
  expect(await boundaries(session)).toHaveLength(1);
  expect(h.bodies().filter(asksForSummary)).toHaveLength(1);
});

test('a stop ends it with the run, and the session closes (L47 L49)', async () => {
  const held = gate();
  let [calls, isAsked] = [0, false];
  const h = await looking(async (request) => {
    if (asksForSummary(request)) {
      isAsked = true;
      return reply('They looked.', { hold: held.hold, holdAfterEvent: 1 });
    }
    calls += 1;
    if (isAsked) await held.hold;
    return look(calls, Math.min(2_500 * calls, 22_000));
  });
  const session = await h.open('Look around.', { model: MODEL });
  await until(() => isAsked);
  await session.handle.signal('interrupt');
  expect(await session.ended(1)).toMatchObject({ terminal: { by: 'interrupt' } });
  await until(async () => (await atWork(h, session)).length === 0);
  held.release();
  await session.handle.cancel();
  await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  expect(await boundaries(session)).toEqual([]);
});

test('one that another boundary overtook is followed by none until it has ended, and a stop ends it (L47)', async () => {
  const held = gate();
  let [calls, asked] = [0, 0];
  const h = await looking((request) => {
    if (asksForSummary(request)) {
      asked += 1;
      return reply('They looked.', asked === 2 ? {} : { hold: held.hold, holdAfterEvent: 1 });
    }
    if (asked === 1) return fault({ media_too_large: true });
    calls += 1;
    if (calls === 13) return reply('One moment.', { hold: held.hold, holdAfterEvent: 1 });
    return look(calls, Math.min(2_500 * calls, 22_000));
  });
  const session = await h.open('Look around.', { model: MODEL });
  await until(() => calls === 13);
  await session.handle.signal('interrupt');
  expect(await session.ended(1)).toMatchObject({ terminal: { by: 'interrupt' } });
  expect(await boundaries(session)).toHaveLength(1);
  expect(asked).toBe(2);
  await until(async () => (await atWork(h, session)).length === 0);
  held.release();
});

test('none is prepared after three that were close to each other, while there is room without (L10)', async () => {
  let [calls, asked, beside] = [0, 0, false];
  const h: Harness = await looking(async (request) => {
    if (asksForSummary(request)) {
      asked += 1;
      beside = true;
      await until(() => !beside);
      return reply('They looked.', { usage: { input_tokens: 17_500, output_tokens: 10 } });
    }
    calls += 1;
    if (beside) {
      beside = false;
      // It is taken by the very next request, however slow the machine is.
      await until(async () => !(await atWork(h, session)).includes('perdure.prepareCompaction'));
    }
    return calls === 16 ? reply('Done.') : look(calls, calls < 4 ? 2_000 : 17_500, `${calls}.txt`);
  });
  const page = `${'hello '.repeat(20)}\n`.repeat(150);
  for (let n = 1; n <= 16; n++) writeFileSync(join(h.cwd, `${n}.txt`), page);
  const session = await h.open('Look around.', { model: MODEL });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
  expect(asked).toBe(3);
  expect(await boundaries(session)).toHaveLength(3);
  await keepHistory('no compaction is prepared after three close ones', session.handle);
});
