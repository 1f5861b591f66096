import { describe, expect, test } from 'vitest';
import { conversation, CONTROLS, stripped, user, type Message } from './conversation.ts';
import type { Body } from './support.ts';

const COMPACT = 'compact-2026-09-04';
const summarize = { compaction: { type: 'summarize' } };

describe('thinking of turns that are kept', () => {
  /** Three turns, of which the first `kept` messages are summarised. */
  async function compacted(count: number, more: Body = {}) {
    const made = await conversation();
    for (const word of ['one', 'two', 'three']) await made.say(word);
    const { answer: summary } = await made.send(
      stripped(made.messages.slice(0, count), 1),
      { ...summarize, ...more },
      COMPACT,
    );
    const head: Message = { role: 'assistant', content: summary.content };
    return { ...made, head, kept: made.messages.slice(count) };
  }

  test('stays valid behind the block, and what is thought after it too (Compaction and preserved thinking, 2026-10)', async () => {
    const { head, kept, send: ask, server } = await compacted(3);
    const next = [head, ...kept, user('four')];
    const { answer: fourth, status } = await ask(next, {}, COMPACT, CONTROLS);
    expect([status, fourth.input_transformations]).toEqual([200, []]);
    const later = [...next, { role: 'assistant', content: fourth.content }, user('five')];
    const again = await ask(later.slice(0, 5), summarize, COMPACT);
    const twice = [{ role: 'assistant', content: again.answer.content }, ...later.slice(5)];
    expect((await ask(twice, {}, COMPACT, CONTROLS)).answer.input_transformations).toEqual([]);
    expect(server.problems).toEqual([]);
  });

  test.each<[string, number, Body, (kept: readonly Message[]) => readonly Message[]]>([
    ['of a model without the check', 3, { model: 'claude-opus-5' }, (kept) => kept],
    ['with another system prompt', 3, { system: 'Summarise.' }, (kept) => kept],
    ['with other tools', 3, { tools: [] }, (kept) => kept],
    ['that leaves out a message between', 1, {}, (kept) => kept.slice(1)],
    ['with a message more between', 3, {}, (kept) => [user('Now.'), ...kept]],
    ['with a changed message', 3, {}, (kept) => [kept[0] as Message, user('three!'), ...kept.slice(2)]],
  ])(
    '%s fails in the next request, not before (Compaction and preserved thinking, 2026-10)',
    async (_name, count, more, change) => {
      const { head, kept, send: ask } = await compacted(count, more);
      const { status, message } = await ask([head, ...change(kept), user('four')], {}, COMPACT);
      expect([status, message]).toEqual([400, expect.stringContaining('bound to a different conversation')]);
    },
  );

  test('that begins with the role of the last summarised message fails (Compaction and preserved thinking, 2026-10)', async () => {
    const made = await conversation();
    await made.say('one');
    const split = [...made.messages, user('two'), user('and more')];
    const { answer: second } = await made.send(split);
    const summary = await made.send(split.slice(0, 3), summarize, COMPACT);
    const next = [
      { role: 'assistant', content: summary.answer.content },
      ...split.slice(3),
      { role: 'assistant', content: second.content },
      user('three'),
    ];
    expect((await made.send(next, {}, COMPACT)).status).toBe(400);
  });

  test('that was made behind a block fails without it (Compaction and preserved thinking, 2026-10)', async () => {
    const { head, kept, messages, send: ask } = await compacted(3);
    const { answer: fourth } = await ask([head, ...kept, user('four')], {}, COMPACT);
    const whole = [...messages, user('four'), { role: 'assistant', content: fourth.content }, user('five')];
    expect((await ask(whole)).message).toContain('messages.7.content.0: Invalid `signature`');
  });
});
