import { describe, expect, test } from 'vitest';
import { fault, reply, text, toolUse, type Reply } from '../../scripted-model/index.ts';
import { base, thinks, tool, user, type Answer } from './conversation.ts';
import { afterCalls, model, parseSse, post, type Body, type ErrorAnswer, type SseEvent } from './support.ts';

const COMPACT = 'compact-2026-09-04';
const summarize = { compaction: { type: 'summarize' } };
const answer = { role: 'assistant', content: 'Hello' };
const talk = [user('Hi'), answer, user('on')];

/** What is said of a request: its status, words and code, or the answer. */
async function send(script: readonly Reply[], body: Body, betas: readonly string[] = [COMPACT]) {
  const server = await model(script);
  const response = await post(server, { ...base, messages: talk, ...body }, { 'anthropic-beta': betas.join(',') });
  const { error, ...message } = (await response.json()) as ErrorAnswer & Answer;
  return {
    status: response.status,
    error: error as (ErrorAnswer['error'] & { readonly details?: object }) | undefined,
    message,
  };
}

describe('a summary on demand', () => {
  test('is a signed block alone, and its cost stands in iterations only (Compaction on demand, 2026-09)', async () => {
    const { message } = await send([reply('The user said hi.')], summarize);
    expect(message).toMatchObject({
      stop_reason: 'compaction',
      content: [{ type: 'compaction', content: 'The user said hi.', signature: expect.any(String) }],
      usage: {
        input_tokens: 0,
        output_tokens: 0,
        iterations: [{ type: 'compaction', input_tokens: expect.any(Number) }],
      },
    });
    const [iteration] = message.usage['iterations'] as { input_tokens: number; output_tokens: number }[];
    expect(iteration?.input_tokens).toBeGreaterThan(0);
    expect(iteration?.output_tokens).toBeGreaterThan(0);
  });

  test('is streamed whole, without deltas (Compaction on demand, 2026-09)', async () => {
    const server = await model([reply('Said hi.')]);
    const response = await post(
      server,
      { ...base, messages: talk, ...summarize, stream: true },
      { 'anthropic-beta': COMPACT },
    );
    const events = parseSse(await response.text()).filter(({ event }) => event !== 'ping');
    expect(events.map(({ event }) => event)).toEqual([
      'message_start',
      'content_block_start',
      'content_block_stop',
      'message_delta',
      'message_stop',
    ]);
    const [, start, , delta] = events as readonly SseEvent[];
    expect(start?.data['content_block']).toMatchObject({ type: 'compaction', content: 'Said hi.' });
    expect(delta?.data).toMatchObject({
      delta: { stop_reason: 'compaction' },
      usage: { output_tokens: 0, iterations: [{ type: 'compaction' }] },
    });
  });

  test.each<[string, Reply, string]>([
    ['is cut off', reply('Half a', { stop_reason: 'max_tokens' }), 'max_tokens'],
    ['does not fit', reply('', { stop_reason: 'model_context_window_exceeded' }), 'model_context_window_exceeded'],
    [
      'is declined',
      reply('', { stop_reason: 'refusal', stop_details: { type: 'refusal', category: 'cyber' } }),
      'refusal',
    ],
    ['calls a tool', reply([toolUse('read', {})]), 'tool_use'],
    ['says nothing', reply([]), 'end_turn'],
  ])(
    'that %s is empty, with the reason, and costs all the same (Compaction on demand, 2026-09)',
    async (_name, scripted, reason) => {
      const { message, status } = await send([scripted], summarize);
      expect([status, message.content, message.stop_reason]).toEqual([200, [], reason]);
      expect(message.usage['iterations']).toHaveLength(1);
    },
  );

  test.each<[string, Body, string]>([
    ['context_management', { context_management: { edits: [] } }, 'cannot be combined with `context_management`'],
    ['stop_sequences', { stop_sequences: ['x'] }, 'cannot be combined with `stop_sequences`'],
    [
      'a format',
      { output_config: { format: { type: 'json_schema', schema: {} } } },
      'cannot be combined with `output_config.format`',
    ],
    [
      'remaining',
      { output_config: { task_budget: { type: 'tokens', total: 20_000, remaining: 1 } } },
      'cannot be combined with `output_config.task_budget.remaining`',
    ],
    [
      'long instructions',
      { compaction: { type: 'summarize', instructions: 'x'.repeat(16_385) } },
      'at most 16384 characters',
    ],
    [
      'a forced tool',
      { model: 'claude-opus-5', tool_choice: { type: 'any' } },
      'cannot be combined with `tool_choice`',
    ],
    ['a model that has none', { model: 'claude-haiku-4-5' }, 'not supported on this model'],
  ])('with %s is a 400 (Compaction on demand, 2026-09)', async (_name, body, words) => {
    const betas = [COMPACT, 'context-management-2025-06-27', 'task-budgets-2026-03-13'];
    expect((await send([], { ...summarize, ...body }, betas)).error?.message).toContain(words);
  });

  test.each<[string, readonly object[], string]>([
    ['nothing to summarize', [], 'compaction_nothing_to_summarize'],
    ['an open call', afterCalls('a').slice(0, 2), 'compaction_incomplete_turn'],
  ])('of %s is a 400 with a code (Compaction on demand, 2026-09)', async (_name, messages, code) => {
    const { status, error } = await send([], { ...summarize, messages });
    expect([status, error?.details]).toEqual([400, { error_code: code }]);
  });

  test('may end with Claude’s turn, needs its header, and count_tokens ignores it (Compaction on demand, 2026-09)', async () => {
    expect((await send([reply('S')], { ...summarize, messages: talk.slice(0, 2) })).status).toBe(200);
    expect((await send([], summarize, ['other'])).error?.message).toContain(`requires anthropic-beta: ${COMPACT}`);
    const server = await model([]);
    const { max_tokens: _cap, ...counted } = base;
    const count = await post(
      server,
      { ...counted, messages: talk, ...summarize },
      { 'anthropic-beta': COMPACT },
      '/v1/messages/count_tokens',
    );
    expect(count.status).toBe(200);
  });

  test('that is unavailable for a time is a 529 with a code (Compaction on demand, 2026-09)', async () => {
    const { status, error } = await send([fault({ status: 529, errorCode: 'compaction_unavailable' })], summarize);
    expect([status, error]).toMatchObject([
      529,
      { type: 'overloaded_error', details: { error_code: 'compaction_unavailable' } },
    ]);
  });
});

describe('the block that is sent back', () => {
  const block = async () => (await send([reply('Said hi.')], summarize)).message.content[0] as Body;
  const first = (content: object, ...after: readonly object[]) => ({
    messages: [{ role: 'assistant', content: [content] }, user('next'), ...after],
  });

  test('stands first, alone or as a block of the first message (Compaction on demand, 2026-09)', async () => {
    const made = await block();
    expect((await send([reply('ok')], first(made))).status).toBe(200);
    const inUser = {
      messages: [{ role: 'user', content: [{ ...made, cache_control: { type: 'ephemeral' } }, text('next')] }],
    };
    expect((await send([reply('ok')], inUser)).status).toBe(200);
    expect((await send([reply('ok')], { ...first(made), model: 'claude-opus-5', system: 'Another.' })).status).toBe(
      200,
    );
  });

  test('changed, misplaced or twice is a 400 with a code (Compaction on demand, 2026-09)', async () => {
    const made = await block();
    const code = async (body: Body) => (await send([], body)).error?.details;
    expect(await code(first({ ...made, content: 'Said more.' }))).toEqual({
      error_code: 'compaction_content_mismatch',
    });
    expect(await code(first({ ...made, tool_changes: [] }))).toEqual({
      error_code: 'compaction_tool_changes_mismatch',
    });
    expect(await code(first({ ...made, signature: 'x' }))).toEqual({ error_code: 'compaction_signature_invalid' });
    expect(await code(first(made, { role: 'assistant', content: [made] }, user('x')))).toEqual({
      error_code: 'compaction_block_ambiguous',
    });
    expect(await code({ messages: [...talk.slice(0, 1), { role: 'assistant', content: [made] }, user('x')] })).toEqual({
      error_code: 'compaction_block_misplaced',
    });
  });

  test('needs its header and signature, has no fields of others and no remaining beside it (Compaction on demand, 2026-09)', async () => {
    const made = await block();
    const words = async (body: Body, ...betas: readonly string[]) => (await send([], body, betas)).error?.message;
    const { signature: _signature, ...unsigned } = made;
    expect(await words(first(made), 'other')).toContain('is not one of the expected content block types');
    expect(await words(first(made), 'compact-2026-01-12')).toContain(
      `\`signature\` requires anthropic-beta: ${COMPACT}`,
    );
    expect(await words(first(unsigned), COMPACT)).toContain('requires its `signature`');
    expect(await words(first({ ...made, citations: null }), COMPACT)).toBe(
      'messages.0.content.0.compaction.citations: Extra inputs are not permitted',
    );
    expect(await words(first({ ...made, content: '' }), COMPACT)).toContain('at least 1 character');
    const budget = { output_config: { task_budget: { type: 'tokens', total: 20_000, remaining: 1 } } };
    expect(await words({ ...first(made), ...budget }, COMPACT, 'task-budgets-2026-03-13')).toContain(
      'remaining` cannot be combined',
    );
  });

  test('records how the tools were changed, and they stay so (Compaction on demand, 2026-09)', async () => {
    const inline = [COMPACT, 'inline-tools-2026-09-15'];
    const named = { type: 'tool_removal', tool: { type: 'tool_reference', name: 'read' } };
    const write = { type: 'tool_addition', tool: { type: 'tool_definition', definition: { ...tool, name: 'write' } } };
    const messages = [...talk, { role: 'system', content: [named, write] }];
    const { message } = await send([reply('S')], { ...summarize, messages }, inline);
    expect(message.content[0]).toMatchObject({ tool_changes: [named, write] });
    const again = {
      role: 'system',
      content: [{ type: 'tool_removal', tool: { type: 'tool_reference', name: 'write' } }],
    };
    expect((await send([reply('ok')], first(message.content[0] ?? {}, again), inline)).status).toBe(200);
  });
});

test('a script answers requests for a summary apart from others (Compaction on demand, 2026-09)', async () => {
  const script = [reply('Summary.', { when: { compaction: true } }), thinks(1)];
  expect((await send(script, {})).message.content).toMatchObject([{ type: 'thinking' }, { text: 'Answer 1.' }]);
  expect((await send(script, summarize)).message.content).toMatchObject([{ type: 'compaction', content: 'Summary.' }]);
});
