// A message that is too large for the model ends its own run, and no later one.
import { describe, expect, test } from 'vitest';
import { fault, reply, toolUse, type ParsedRequest, type Reply } from '../../scripted-model/index.ts';
import { SIGNALS } from '../../workflows/contract/session.ts';
import { fileStore } from '../../store/values/file-store.ts';
import { asksForSummary } from '../support/asks-for-summary.ts';
import { harness, type Harness, type OpenSession } from '../support/harness.ts';
import { keepHistory } from '../support/kept-history.ts';

const WINDOW = 16_000;
const models = { 'claude-sonnet-': { window: WINDOW, maxOutput: 8_000, price: null } };
/** 200,000 characters, with a word in the middle that no preview shows. */
const GIANT = `Begin. ${'a b c d e '.repeat(10_000)} heliotrope ${'f g h i j '.repeat(10_000)} The end.`;
const sizeOf = ({ messages }: ParsedRequest): number => JSON.stringify(messages).length;

/**
 * Like an API whose window is smaller than anybody says: it refuses what has more than `most`
 * characters.
 */
function refusing(most: number, answer: (request: ParsedRequest, n: number) => Reply) {
  return (request: ParsedRequest, n: number): Reply =>
    !asksForSummary(request) && sizeOf(request) > most ? fault({ too_long: true }) : answer(request, n);
}

/** As the client sends what is long: by hash. */
async function sendStored(h: Harness, session: OpenSession, words: string): Promise<void> {
  const bytes = Buffer.from(words);
  const hash = await fileStore({ dir: h.storePlace }).put(bytes);
  await session.send('', { body: { kind: 'stored', hash, bytes: bytes.length } });
}

/** A session that has answered one short message. */
async function begun(h: Harness): Promise<OpenSession> {
  const session = await h.open('First.');
  await session.ended(1);
  return session;
}

describe('a message that is larger than the window', () => {
  test('ends its run, and the next prompts are answered without a summary (L6 L12)', async () => {
    const h = await harness({ script: () => reply('Hello.'), worker: { config: { models } } });
    const session = await begun(h);
    await sendStored(h, session, GIANT);
    expect((await session.ended(2)).terminal).toMatchObject({ reason: 'blocking_limit' });
    await session.send('Are you still there?');
    expect((await session.ended(3)).terminal).toEqual({ reason: 'completed' });
    await session.send('And now?');
    expect((await session.ended(4)).terminal).toEqual({ reason: 'completed' });
    expect(h.bodies().filter(asksForSummary)).toEqual([]);
    const [, third, fourth] = h.bodies().map(({ messages }) => JSON.stringify(messages));
    expect(third).toContain('Begin. a b');
    expect(third).toContain('The end.');
    expect(third?.length).toBeLessThan(6_000);
    // What was shown once is shown again: the prompt cache stays valid.
    expect(withoutMarks(h.bodies()[2]).slice(0, 3)).toEqual(withoutMarks(h.bodies()[1]).slice(0, 3));
    expect(fourth).toContain('And now?');
    expect(h.model.problems).toEqual([]);
  });

  test.each([true, false])(
    'as the first of its session ends its run, and is not in the way of the next (compaction: %s) (L6 L12)',
    async (enabled) => {
      const h = await harness({
        script: () => reply('Hello.'),
        worker: { config: { models, compaction: { enabled } } },
      });
      const bytes = Buffer.from(GIANT);
      const hash = await fileStore({ dir: h.storePlace }).put(bytes);
      const session = await h.open('', {}, { body: { kind: 'stored', hash, bytes: bytes.length } });
      expect((await session.ended(1)).terminal).toMatchObject({ reason: 'blocking_limit' });
      await session.send('Are you still there?');
      expect((await session.ended(2)).terminal).toEqual({ reason: 'completed' });
      await sendStored(h, session, GIANT);
      expect((await session.ended(3)).terminal).toMatchObject({ reason: 'blocking_limit' });
      await session.send('And now?');
      expect((await session.ended(4)).terminal).toEqual({ reason: 'completed' });
      const [second] = h.bodies().map(({ messages }) => JSON.stringify(messages));
      expect(second).toContain('Begin. a b');
      expect(second?.length).toBeLessThan(6_000);
      expect([h.bodies().filter(asksForSummary), h.model.problems]).toEqual([[], []]);
      if (enabled) await keepHistory('a first message that is larger than the window (L12)', session.handle);
    },
  );

  test('the read tool opens the whole of it (L6)', async () => {
    let name = '';
    const script = (request: ParsedRequest, n: number): Reply => {
      if (n !== 2) return reply('Yes.');
      name = /perdure:entry\/\d+/.exec(JSON.stringify(request.messages))?.[0] ?? 'none';
      return reply([toolUse('read', { path: name })]);
    };
    const h = await harness({ script, worker: { config: { models } } });
    const session = await begun(h);
    await sendStored(h, session, GIANT.replaceAll(' e ', '\n'));
    await session.ended(2);
    await session.send('What did I send?');
    expect((await session.ended(3)).terminal).toEqual({ reason: 'completed' });
    const outcome = (await session.entries()).find((entry) => entry.kind === 'outcomes');
    expect(outcome?.outcomes[0]).toMatchObject({ isError: false });
    expect(outcome?.outcomes[0]?.content).toContain('a b c d');
    expect(name).not.toBe('none');
  });
});

describe('a message that only the API finds too large', () => {
  test('ends its run, and the next prompts are answered (L6 L25)', async () => {
    const h = await harness({ script: refusing(100_000, () => reply('Hello.')) });
    const session = await begun(h);
    await sendStored(h, session, GIANT);
    expect((await session.ended(2)).terminal).toMatchObject({ reason: 'prompt_too_long' });
    const summaries = h.bodies().filter(asksForSummary).length;
    await session.send('Are you still there?');
    expect((await session.ended(3)).terminal).toEqual({ reason: 'completed' });
    expect(h.bodies().filter(asksForSummary)).toHaveLength(summaries);
    expect(h.model.problems).toEqual([]);
  });

  test('stays in sight as it was while its own run goes on, and after a run that ended in another way (L6)', async () => {
    const h = await harness({ script: () => reply('Hello.') });
    const session = await begun(h);
    await sendStored(h, session, GIANT);
    await session.ended(2);
    await session.send('Are you still there?');
    await session.ended(3);
    expect(JSON.stringify(h.bodies()[2])).toContain('heliotrope');
  });
});

describe('a message that fills most of the window', () => {
  test.each([true, false])('no longer counts once it is snipped (compaction: %s) (L7)', async (enabled) => {
    const h = await harness({
      script: () => reply('Hello.'),
      worker: { config: { models, compaction: { enabled } } },
    });
    const session = await h.open('b c d e f '.repeat(5_000));
    await session.ended(1);
    const at = (await session.entries()).findIndex((entry) => entry.kind === 'user');
    await session.handle.signal(SIGNALS.snip, { entries: [at] });
    await session.send(`And now? ${'x y '.repeat(3_000)}`);
    expect((await session.ended(2)).terminal).toEqual({ reason: 'completed' });
    expect(h.bodies().filter(asksForSummary)).toEqual([]);
  });
});

function withoutMarks(body: ParsedRequest | undefined): unknown[] {
  const messages = JSON.stringify(body?.messages).replaceAll(/,"cache_control":\{[^}]*\}/g, '');
  return JSON.parse(messages) as unknown[];
}
