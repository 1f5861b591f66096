// A session's budget (G69) on a real server: a run that reaches it waits with nothing running, over
// a handover too, and goes on once it is raised or removed.
import { describe, expect, test } from 'vitest';
import { reply, type Reply, toolUse } from '../../scripted-model/index.ts';
import type { Entry } from '../../store/log/entries.ts';
import { defaultHandover, type OptionChanges, UPDATES } from '../../workflows/contract/session.ts';
import type { BudgetEntry } from '../../workflows/contract/waits.ts';
import { agentCall, byPrompt } from '../support/by-prompt.ts';
import { clientOf, harness, type HarnessOptions, type Harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

/** A dollar at the prices of the model. */
const dollar = {
  usage: { input_tokens: 500_000, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
};
const glob = toolUse('glob', { pattern: '*' });

const opened = (script: HarnessOptions['script'], more: Partial<HarnessOptions> = {}) => harness({ script, ...more });
const budgeted = (sessionBudgetUsd: number) => ({ sessionBudgetUsd, model: 'claude-sonnet-5-5' });
const set = (session: OpenSession, changes: OptionChanges) =>
  session.handle.executeUpdate(UPDATES.setOptions, { args: [changes, { by: 'ann' }] });

const refusal = (update: Promise<unknown>): Promise<string | undefined> =>
  update.then(
    () => 'accepted',
    (error: { readonly cause?: Error }) => error.cause?.message,
  );

const budgetsIn = (entries: readonly Entry[]): readonly BudgetEntry[] =>
  entries.flatMap((entry) => (entry.kind === 'budget' ? [entry] : []));

async function entriesOf(h: Harness, session: OpenSession): Promise<readonly Entry[]> {
  const entries: Entry[] = [];
  for await (const { entry } of clientOf(h).transcript(session.id)) entries.push(entry);
  return entries;
}

/** Resolves with the entries once the session waits at its budget for the nth time. */
const waits = (session: OpenSession, h: Harness, nth = 1) =>
  until(async () => {
    if ((await session.memo())?.atBudget !== true) return false;
    const entries = await entriesOf(h, session);
    return budgetsIn(entries).filter(({ state }) => state === 'reached').length === nth && entries;
  });

describe('a run that reaches the session’s budget', () => {
  const script = (): readonly Reply[] => [reply([glob], dollar), reply('Done.')];

  test('runs the calls of its reply, waits with nothing running, and goes on once it is raised (G69)', async () => {
    const h = await opened(script());
    const session = await h.open('Go.', budgeted(1));
    const entries = await waits(session, h);
    expect(entries.map(({ kind }) => kind).filter((kind) => kind === 'outcomes' || kind === 'budget')).toEqual([
      'outcomes',
      'budget',
    ]);
    expect(budgetsIn(entries)).toMatchObject([{ state: 'reached', limitUsd: 1, spend: { usd: 1 } }]);
    expect(await session.memo()).toMatchObject({ phase: 'parked', atBudget: true });
    expect((await session.handle.describe()).raw.pendingActivities ?? []).toHaveLength(0);
    expect(h.bodies()).toHaveLength(1);
    expect(await refusal(set(session, { sessionBudgetUsd: 1 }))).toContain('has cost 1.0000 US dollars already');
    await set(session, { sessionBudgetUsd: 1.5 });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(h.bodies()).toHaveLength(2);
    const all = await session.entries();
    expect(budgetsIn(all)).toMatchObject([{ state: 'reached' }, { state: 'left', limitUsd: 1.5 }]);
    const steered = all.findIndex(({ kind }) => kind === 'steered');
    expect(all[steered]).toMatchObject({ steered: { by: 'ann', changes: { sessionBudgetUsd: 1.5 } } });
    expect(all[steered + 1]).toMatchObject({ kind: 'budget', state: 'left' });
    expect(await session.memo()).not.toHaveProperty('atBudget');
    await keepHistory('a session that waits at its budget until it is raised (G69)', session.handle);
  });

  test('has its calls and prompt in the next request, each once (G69 L39)', async () => {
    const h = await opened(script());
    const session = await h.open('Go.', budgeted(1));
    await waits(session, h);
    await set(session, { sessionBudgetUsd: null });
    await session.ended(1);
    const messages = JSON.stringify(h.bodies()[1]?.messages);
    expect(messages.split('"tool_result"')).toHaveLength(2);
    expect(messages.split('Go.')).toHaveLength(2);
    expect(budgetsIn(await session.entries()).at(-1)).toMatchObject({ state: 'left', limitUsd: null });
  });

  test('waits over handovers, and the transcript tells of one wait (G69 L4)', async () => {
    const h = await opened(script(), { handover: { ...defaultHandover, events: 30 } });
    const session = await h.open('Go.', budgeted(1));
    await waits(session, h);
    const { runId } = await session.handle.describe();
    await until(async () => {
      if ((await session.handle.describe()).runId !== runId) return true;
      await set(session, { tags: { team: 'web' } });
      return false;
    });
    expect(await session.memo()).toMatchObject({ phase: 'parked', atBudget: true });
    await set(session, { sessionBudgetUsd: 2 });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
    expect(budgetsIn(await session.entries()).map(({ state }) => state)).toEqual(['reached', 'left']);
    expect(h.bodies()).toHaveLength(2);
    await keepHistory('a session that waits at its budget over a handover (G69 L4)', session.handle);
  });

  test('ends with a stop, and the next prompt waits before its first call (G69 L47)', async () => {
    const h = await opened([reply([glob], dollar), reply('Done.')]);
    const session = await h.open('Go.', budgeted(1));
    await waits(session, h);
    await clientOf(h).interrupt(session.id, { by: 'ann' });
    expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming', by: 'interrupt' } });
    await clientOf(h).send(session.id, 'More.');
    await waits(session, h, 2);
    expect(h.bodies()).toHaveLength(1);
    await set(session, { sessionBudgetUsd: 2 });
    expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
    const kinds = (await session.entries()).map(({ kind }) => kind);
    expect(kinds.lastIndexOf('user')).toBeLessThan(kinds.lastIndexOf('budget'));
    await keepHistory('a stop at the budget, and a prompt that waits before its first call (G69)', session.handle);
  });
});

test('runs of a session share its budget, and a raise under way counts at once (G69)', async () => {
  const h = await opened([reply('One.', dollar), reply([glob], dollar), reply([glob], dollar), reply('Done.')]);
  const session = await h.open('Go.', budgeted(1.5));
  await session.ended(1);
  await clientOf(h).send(session.id, 'More.');
  await waits(session, h);
  expect(h.bodies()).toHaveLength(2);
  await set(session, { sessionBudgetUsd: 2.5 });
  await waits(session, h, 2);
  expect(h.bodies()).toHaveLength(3);
  await set(session, { sessionBudgetUsd: 4 });
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
});

test('agents have shares of the budget: session and agent go over by one call each at most (G69 L69)', async () => {
  const h = await opened(
    byPrompt({
      'Go.': [reply([agentCall('A.')]), reply('Done.')],
      'A.': [reply([glob], dollar), reply('Never said.')],
    }),
  );
  const session = await h.open('Go.', budgeted(1));
  const entries = await waits(session, h);
  expect(budgetsIn(entries)[0]?.spend.usd).toBeLessThan(1.1);
  expect(JSON.stringify(entries)).toContain('budget_exceeded');
  expect(h.bodies()).toHaveLength(2);
  await set(session, { sessionBudgetUsd: 2 });
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'completed' } });
});

test('a model without a price cannot be held to a budget: the run is refused (G69 G26)', async () => {
  const h = await opened([reply('Never.')]);
  const session = await h.open('Go.', { sessionBudgetUsd: 1, model: 'house-model-7' });
  expect(await session.ended(1)).toMatchObject({
    terminal: { reason: 'model_error', detail: expect.stringContaining('price is not known') },
  });
});
