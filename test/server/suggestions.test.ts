// What a person may write next, on a real server: told by the session's memo, until something is
// written (L56).
import { expect, test } from 'vitest';
import { sessionInfo } from '../../client/sessions/info.ts';
import { gate, reply, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { spentIn, tokensOf } from '../support/agents.ts';
import { harness } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';
import { until } from '../support/until.ts';

const isSmall = ({ model }: ParsedRequest): boolean => model.startsWith('claude-haiku');
const usage = {
  usage: { input_tokens: 5_000, output_tokens: 0, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 },
};

test('after a natural end a prompt is suggested, paid, in no transcript, and void with the next one (L56)', async () => {
  const [asked, held] = [gate(), gate()];
  let times = 0;
  const script = async (request: ParsedRequest): Promise<Reply> => {
    if (!isSmall(request)) return reply('Done.');
    times += 1;
    if (times === 1) return reply('Run the tests too.', usage);
    asked.release();
    await held.hold;
    return reply('Too late.', usage);
  };
  const h = await harness({ script });
  const session = await h.open('Mend it.', { suggestPrompts: true });
  await session.ended(1);
  await until(async () => (await session.memo())?.suggestion !== undefined);
  expect((await session.memo())?.suggestion).toEqual({ run: 1, text: 'Run the tests too.' });
  expect(sessionInfo(await session.handle.describe()).suggestion).toEqual({ run: 1, text: 'Run the tests too.' });
  expect((await session.memo())?.facts?.tokens).toBe(tokensOf(spentIn(await session.entries())) + 5_000);
  // The second run ends while its own suggestion is still being asked for.
  await session.send('Something else.');
  expect(await session.ended(2)).toMatchObject({ terminal: { reason: 'completed' } });
  await asked.hold;
  expect((await session.memo())?.suggestion).toBeUndefined();
  // A newer prompt makes it void before it is there.
  await session.send('And this.');
  await session.ended(3);
  held.release();
  await until(async () => (await session.memo())?.suggestion?.run === 3);
  expect(JSON.stringify(await session.entries())).not.toMatch(/Run the tests too|Too late/);
  expect(h.bodies().filter(isSmall)).toHaveLength(3);
  await session.handle.cancel();
  await until(async () => (await session.handle.describe()).status.name === 'CANCELLED');
  expect((await session.memo())?.suggestion).toBeUndefined();
  await keepHistory('a session to which prompts were suggested (L56)', session.handle);
});

test('a suggestion is told on over a handover (L4 L56)', async () => {
  const script = (request: ParsedRequest): Reply => reply(isSmall(request) ? 'Run the tests too.' : 'Done.');
  const h = await harness({ script, handover: { events: 10_000, betweenRuns: 20, signals: 10_000 } });
  const session = await h.open('Mend it.', { suggestPrompts: true });
  const { runId } = await session.handle.describe();
  await session.ended(1);
  await until(async () => (await session.handle.describe()).runId !== runId);
  await until(async () => (await session.memo())?.suggestion?.text === 'Run the tests too.');
});

test('a run that does not end by itself is followed by no suggestion (L47 L56)', async () => {
  const held = gate();
  const script = (request: ParsedRequest): Reply =>
    isSmall(request) ? reply('Nobody asks.') : { ...reply('Half'), hold: held.hold, holdAfterEvent: 2 };
  const h = await harness({ script });
  const session = await h.open('Go.', { suggestPrompts: true });
  await until(() => h.bodies().length === 1);
  await session.handle.signal('interrupt');
  expect(await session.ended(1)).toMatchObject({ terminal: { reason: 'aborted_streaming' } });
  held.release();
  expect([h.bodies().some(isSmall), (await session.memo())?.suggestion]).toEqual([false, undefined]);
});
