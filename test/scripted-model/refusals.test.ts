import { describe, expect, test } from 'vitest';
import { fault, reply, text, thinking } from '../../scripted-model/index.ts';
import { base, CONTROLS, conversation, user, type Answer } from './conversation.ts';
import { hello, model, parseSse, post, refusal, type Body, type ErrorAnswer } from './support.ts';

const FALLBACK = 'server-side-fallback-2026-07-01';
const declined = reply([thinking('Hm.'), text('I begin'), text('and the other ends.')], {
  declined: { category: 'cyber', explanation: 'No.', at: 2 },
});

async function ask(body: Body, ...betas: readonly string[]) {
  const server = await model([declined]);
  return post(server, { ...hello, model: 'claude-fable-5-1', ...body }, { 'anthropic-beta': betas.join(',') });
}

describe('a model that declines', () => {
  test('is a 200 with the reason, and what it said until then (Refusals and fallback, 2026-11)', async () => {
    const message = (await (await ask({})).json()) as Answer;
    expect(message).toMatchObject({
      stop_reason: 'refusal',
      stop_details: { type: 'refusal', category: 'cyber', explanation: 'No.' },
      content: [{ type: 'thinking' }, { type: 'text', text: 'I begin' }],
    });
  });

  test('hands over to the fallback, with a block between and an entry for each (Refusals and fallback, 2026-11)', async () => {
    const message = (await (await ask({ fallbacks: [{ model: 'claude-opus-5' }] }, FALLBACK)).json()) as Answer;
    expect(message).toMatchObject({
      model: 'claude-opus-5',
      stop_reason: 'end_turn',
      content: [
        { type: 'thinking' },
        { type: 'text', text: 'I begin' },
        {
          type: 'fallback',
          from: { model: 'claude-fable-5-1' },
          to: { model: 'claude-opus-5' },
          trigger: { type: 'refusal', category: 'cyber' },
        },
        { type: 'text', text: 'and the other ends.' },
      ],
      usage: {
        iterations: [
          { type: 'message', model: 'claude-fable-5-1' },
          { type: 'fallback_message', model: 'claude-opus-5' },
        ],
      },
    });
  });

  test('has its default fallback, or none and stays declined (Refusals and fallback, 2026-11)', async () => {
    const served = async (name: string) =>
      ((await (await ask({ model: name, fallbacks: 'default' }, FALLBACK)).json()) as Answer & Body)['model'];
    expect(await served('claude-fable-5-2')).toBe('claude-opus-5');
    expect(await served('claude-haiku-5-5')).toBe('claude-haiku-5-5');
  });

  test('needs its header, three models at most, and a model that has any (Refusals and fallback, 2026-11)', async () => {
    const words = async (body: Body, ...betas: readonly string[]) => (await refusal(await ask(body, ...betas))).message;
    const to = { model: 'claude-opus-5' };
    expect(await words({ fallbacks: 'default' }, 'other')).toBe('fallbacks: Extra inputs are not permitted');
    expect(await words({ fallbacks: [to, to, to, to] }, FALLBACK)).toContain('at most 3 items');
    expect(await words({ fallbacks: [{ ...to, tools: [] }] }, FALLBACK)).toContain('fallbacks.0.tools: Extra inputs');
    expect(await words({ model: 'claude-haiku-5-5', fallbacks: [to] }, FALLBACK)).toContain(
      'not supported for this model',
    );
    expect(await words({ model: 'claude-fable-5-2', fallbacks: [{ model: 'claude-sonnet-5' }] }, FALLBACK)).toContain(
      'not an allowed fallback',
    );
  });

  test('in the middle of a stream says in the end what the other did not read (Refusals and fallback, 2026-11)', async () => {
    const { server, messages, say } = await conversation({}, { model: 'claude-fable-5-1' });
    await say('one');
    const again = await model([declined]);
    const body = {
      ...base,
      model: 'claude-fable-5-1',
      messages: [...messages, user('two')],
      fallbacks: [{ model: 'claude-opus-5' }],
      stream: true,
    };
    const response = await post(again, body, { 'anthropic-beta': `${FALLBACK},${CONTROLS}` });
    const events = parseSse(await response.text());
    expect(events[0]?.data['message']).toMatchObject({ model: 'claude-opus-5', input_transformations: [] });
    const last = events.find(({ event }) => event === 'message_delta')?.data;
    expect(last?.['input_transformations']).toMatchObject([
      { path: 'messages.1.content.0', reason: 'model_binding_mismatch' },
    ]);
    expect(server.problems).toEqual([]);
  });
});

test('of a reply that was handed over no thinking and call before the block goes back (Refusals and fallback, 2026-11)', async () => {
  const server = await model([reply('ok', { times: 'any' })]);
  const block = { type: 'fallback', from: { model: 'a' }, to: { model: 'b' } };
  const back = (...content: object[]) => ({
    ...hello,
    messages: [user('go'), { role: 'assistant', content }, user('on')],
  });
  const send = (body: Body, beta = FALLBACK) => post(server, body, { 'anthropic-beta': beta });
  expect((await send(back(text('I begin'), block, text('and end.')))).status).toBe(200);
  expect((await send(back(text('I begin'), block, text('and end.')), 'other')).status).toBe(400);
  const call = { type: 'tool_use', id: 'a', name: 'read', input: {} };
  const { message } = await refusal(
    await send({
      ...hello,
      messages: [
        user('go'),
        { role: 'assistant', content: [call, block] },
        user([{ type: 'tool_result', tool_use_id: 'a' }]),
      ],
    }),
  );
  expect(message).toContain('`tool_use` blocks cannot precede a `fallback` block');
});

test('a spend limit is a 429 with a code and no time to wait (Errors, 2026-08)', async () => {
  const server = await model([fault({ status: 429, errorCode: 'enforced_spend_limit_reached' })]);
  const response = await post(server, hello);
  expect([response.status, response.headers.get('retry-after')]).toEqual([429, null]);
  const { error } = (await response.json()) as ErrorAnswer;
  expect(error).toMatchObject({ type: 'rate_limit_error', details: { error_code: 'enforced_spend_limit_reached' } });
});
