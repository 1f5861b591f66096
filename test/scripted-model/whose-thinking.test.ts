import { expect, test } from 'vitest';
import { findProfile, canReadThinking } from '../../scripted-model/models/profiles.ts';
import { conversation, CONTROLS, stripped, user } from './conversation.ts';

test.each([
  ['claude-fable-5-1', 'claude-opus-5-5', true],
  ['claude-mythos-5-1', 'claude-fable-5-1', true],
  ['claude-fable-5-1', 'claude-fable-5', true],
  ['claude-fable-5-1', 'claude-haiku-4-5', true],
  ['claude-fable-5-1', 'claude-sonnet-5-5', false],
  ['claude-fable-5-1', 'claude-fable-5-2', false],
  ['claude-mythos-5-2', 'claude-fable-5-2', true],
  ['claude-fable-5-2', 'claude-fable-5-1', false],
  ['claude-opus-5-5', 'claude-opus-5', true],
  ['claude-opus-5-5', 'claude-sonnet-5', true],
  ['claude-opus-5-5', 'claude-fable-5', false],
  ['claude-opus-5', 'claude-opus-5-5', false],
  ['claude-sonnet-5-5', 'claude-sonnet-5', true],
  ['claude-sonnet-5-5', 'claude-haiku-4-5-20251001', true],
  ['claude-sonnet-5-5', 'claude-opus-4-8', true],
  ['claude-sonnet-5-5', 'claude-opus-5', false],
  ['claude-haiku-5-5', 'claude-sonnet-5', false],
  ['claude-sonnet-5', 'claude-opus-5-5', false],
  ['claude-haiku-4-5', 'claude-haiku-4-5-20251001', true],
])('%s reads the thinking of %s: %s (Preserved thinking, 2026-09)', (reader, maker, expected) => {
  expect(findProfile(reader)).toBeDefined();
  expect(canReadThinking(reader, maker)).toBe(expected);
});

test('what a model may not read is dropped, uncounted, until it comes back (Preserved thinking, 2026-09)', async () => {
  const { messages, say, send, server } = await conversation({}, { model: 'claude-fable-5-1' });
  await say('one');
  await say('two');
  const away = await say('three', { model: 'claude-opus-5-5' }, CONTROLS);
  const entry = { type: 'thinking_dropped', reason: 'model_binding_mismatch' };
  expect(away.answer.input_transformations).toEqual(
    [1, 3].map((at) => ({ ...entry, path: `messages.${at}.content.0` })),
  );
  const bare = await send(stripped(messages.slice(0, -1), 1, 3), { model: 'claude-opus-5-5' });
  expect(away.answer.usage['input_tokens']).toBe(bare.answer.usage['input_tokens']);
  const back = await say('four', {}, CONTROLS);
  expect([back.status, back.answer.input_transformations]).toEqual([200, []]);
  expect(server.problems).toEqual([]);
});

test('a conversation that comes from a model without the check keeps its thinking (Preserved thinking, 2026-09)', async () => {
  const { say, messages, send } = await conversation({}, { model: 'claude-opus-5' });
  await say('one');
  await say('two', { model: 'claude-opus-5-5' });
  const changed = await send(
    [user('One.'), ...messages.slice(1, 2), user('go on')],
    { model: 'claude-opus-5-5' },
    CONTROLS,
  );
  expect([changed.status, changed.answer.input_transformations]).toEqual([200, []]);
});

test('thinking of another account is dropped where the model ties it to the account (Preserved thinking, 2026-10)', async () => {
  const made = async (model: string) => {
    const { say, messages } = await conversation({ account: { id: 'org_a' } }, { model });
    await say('one');
    const other = await conversation({ account: { id: 'org_b' } }, { model });
    return await other.send([...messages, user('two')], { system: 'Another.' }, CONTROLS);
  };
  const entry = { type: 'thinking_dropped', path: 'messages.1.content.0', reason: 'organization_binding_mismatch' };
  expect((await made('claude-sonnet-5-5')).answer.input_transformations).toEqual([entry]);
  expect((await made('claude-haiku-5-5')).answer.input_transformations).toEqual([entry]);
  expect((await made('claude-opus-5-5')).status).toBe(400);
});
