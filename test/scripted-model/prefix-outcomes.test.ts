import { describe, expect, test } from 'vitest';
import { base, BOUND, conversation, CONTROLS, dropping, stripped, threeTurns, user } from './conversation.ts';
import { post, refusal } from './support.ts';

describe('who is checked', () => {
  const outcome = async (name: string, created: string, ...betas: readonly string[]) => {
    const { messages, send } = await threeTurns({ account: { created } }, { model: name });
    return send([user('Another.'), ...messages.slice(1), user('go on')], {}, ...betas);
  };

  test.each(['claude-fable-5-2', 'claude-mythos-5-2', 'claude-mythos-5-1'])(
    '%s refuses a changed prefix on every account (What’s new in Claude Fable 5.2, 2026-11)',
    async (name) => {
      expect((await outcome(name, 'old')).status).toBe(400);
    },
  );

  test.each(['claude-fable-5-1', 'claude-opus-5-5', 'claude-sonnet-5-5', 'claude-haiku-5-5'])(
    '%s refuses it for accounts from 31 August 2026 on, and only notes it for older ones (Preserved thinking, 2026-09)',
    async (name) => {
      expect((await outcome(name, '2026-08-31T00:00:00Z')).status).toBe(400);
      const noted = await outcome(name, '2026-08-30T23:59:59Z', CONTROLS);
      const entry = { type: 'thinking_mismatch_allowed', reason: 'prefix_binding_mismatch' };
      const paths = [1, 3, 5].map((at) => ({ ...entry, path: `messages.${at}.content.0` }));
      expect(noted).toMatchObject({ status: 200, answer: { input_transformations: paths } });
      expect((await outcome(name, 'old')).answer).not.toHaveProperty('input_transformations');
    },
  );

  test.each(['claude-opus-5', 'claude-sonnet-5', 'claude-opus-4-5-20251101', 'claude-a', 'gpt-9'])(
    '%s runs no check, and takes block_binding all the same (Preserved thinking, 2026-09)',
    async (name) => {
      const { messages, send } = await threeTurns({}, { model: name });
      const type = name.startsWith('claude-opus-4-5') ? 'enabled' : 'adaptive';
      const budget = type === 'enabled' ? { budget_tokens: 1_024 } : {};
      const body = { thinking: { ...dropping(type), ...budget }, max_tokens: 2_000 };
      const { status, answer } = await send([user('Another.'), ...messages.slice(1), user('go on')], body, CONTROLS);
      expect([status, answer.input_transformations]).toEqual([200, []]);
    },
  );

  test('count_tokens runs the same check (Preserved thinking, 2026-09)', async () => {
    const { messages, server } = await threeTurns();
    const { max_tokens: _cap, ...counted } = base;
    const body = { ...counted, system: 'Be long.', messages: [...messages, user('go on')] };
    const { status, message } = await refusal(await post(server, body, {}, '/v1/messages/count_tokens'));
    expect([status, message]).toEqual([400, expect.stringContaining(BOUND)]);
  });
});

describe('drop_block', () => {
  test('drops what fails and all after it, uncounted, and lists it (Preserved thinking, 2026-09)', async () => {
    const { messages, send, server } = await threeTurns({ account: { created: 'old' } });
    const changed = [...messages.slice(0, 2), user('two!'), ...messages.slice(3), user('go on')];
    const dropped = await send(changed, { thinking: dropping() }, CONTROLS);
    const entry = { type: 'thinking_dropped', reason: 'prefix_binding_mismatch' };
    expect(dropped.answer.input_transformations).toEqual(
      [3, 5].map((at) => ({ ...entry, path: `messages.${at}.content.0` })),
    );
    const bare = await send(stripped(changed, 3, 5), { thinking: dropping() }, CONTROLS);
    expect(dropped.answer.usage['input_tokens']).toBe(bare.answer.usage['input_tokens']);
    expect(server.problems).toEqual([]);
  });

  test('what is thought after a drop stays valid as long as the same is dropped (Preserved thinking, 2026-09)', async () => {
    const { messages, send } = await threeTurns();
    const body = { thinking: dropping() };
    const changed = [user('One.'), ...messages.slice(1), user('four')];
    const { answer } = await send(changed, body, CONTROLS);
    const next = [...changed, { role: 'assistant', content: answer.content }, user('five')];
    const entries = (await send(next, body, CONTROLS)).answer.input_transformations;
    expect(entries).toHaveLength(3);
    expect((await send(stripped(next, 1, 3, 5))).status).toBe(200);
  });

  test('a block in the middle that is left out takes along all after it (Preserved thinking, 2026-09)', async () => {
    const { messages, send, say } = await threeTurns();
    await say('four');
    const { answer } = await send([...stripped(messages, 3), user('go on')], { thinking: dropping() }, CONTROLS);
    expect(answer.input_transformations).toMatchObject([
      { path: 'messages.5.content.0' },
      { path: 'messages.7.content.0' },
    ]);
  });

  test('error said by name is refused on an old account too, without the sentence about the header (Preserved thinking, 2026-09)', async () => {
    const { messages, send } = await threeTurns({ account: { created: 'old' } });
    const body = {
      system: 'Be long.',
      thinking: { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'error' } },
    };
    const { message } = await send([...messages, user('go on')], body, CONTROLS);
    expect(message).toBe(
      `messages.1.content.0: ${BOUND} The \`system\` prompt differs from when the block was created.`,
    );
  });

  test('block_binding needs its header, a kind of thinking that has it and a value that is one (Preserved thinking, 2026-09)', async () => {
    const { send } = await conversation();
    const ask = (thinking: object, ...betas: readonly string[]) => send([user('go')], { thinking }, ...betas);
    expect((await ask(dropping())).message).toBe('thinking.adaptive.block_binding: Extra inputs are not permitted');
    expect((await ask(dropping('between_tools'), CONTROLS)).message).toBe(
      'thinking.between_tools.block_binding: Extra inputs are not permitted',
    );
    const odd = { type: 'adaptive', block_binding: { prefix_mismatch_behavior: 'keep' } };
    expect((await ask(odd, CONTROLS)).message).toContain(
      "prefix_mismatch_behavior: Input should be 'error' or 'drop_block'",
    );
    expect((await ask({ type: 'adaptive', block_binding: {} }, CONTROLS)).status).toBe(200);
  });
});
