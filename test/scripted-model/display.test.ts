import { expect, test } from 'vitest';
import { reply, text, thinking, toolUse } from '../../scripted-model/index.ts';
import type { Reply, ReplyBlock } from '../../scripted-model/index.ts';
import type { Answer } from './conversation.ts';
import { afterCalls, hello, model, parseSse, post, received, type Body } from './support.ts';

const thought = 'I should read the file first. '.repeat(20);
const said = reply([thinking(thought), text('Yes.')]);

async function ask(body: Body, script: readonly Reply[] = [said], ...betas: readonly string[]) {
  const server = await model(script);
  const sent = { ...hello, max_tokens: 2_000, model: 'claude-sonnet-5-5', ...body };
  return post(server, sent, betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') });
}

async function thoughts(body: Body, script?: readonly Reply[], ...betas: readonly string[]): Promise<unknown[]> {
  const { content } = (await (await ask(body, script, ...betas)).json()) as Answer;
  return content.filter(({ type }) => type === 'thinking').map((block) => block['thinking']);
}

async function events(body: Body, script?: readonly Reply[], ...betas: readonly string[]) {
  const { bytes } = await received(await ask({ ...body, stream: true }, script, ...betas));
  return parseSse(bytes.toString());
}

test('from 4.7 on thinking is empty with a signature unless asked for, before it is shown (Thinking, 2026-10)', async () => {
  expect(await thoughts({})).toEqual(['']);
  expect(await thoughts({ model: 'claude-opus-4-7', thinking: { type: 'adaptive' } })).toEqual(['']);
  expect(await thoughts({ model: 'claude-haiku-4-5' })).toEqual([thought]);
  expect(await thoughts({ thinking: { type: 'adaptive', display: 'summarized' } })).toEqual([thought]);
  expect(
    await thoughts({
      model: 'claude-haiku-4-5',
      thinking: { type: 'enabled', budget_tokens: 1_024, display: 'omitted' },
    }),
  ).toEqual(['']);
});

test('omitted thinking streams its signature and no other delta (Streaming, 2026-08)', async () => {
  const block = (await events({})).filter(({ data }) => data['index'] === 0);
  expect(block.map(({ data }) => (data['delta'] as { type: string } | undefined)?.type ?? data['type'])).toEqual([
    'content_block_start',
    'signature_delta',
    'content_block_stop',
  ]);
});

test('thinking is billed whatever is shown of it, and counts again when it is sent back (Thinking, 2026-10)', async () => {
  const usage = async (display: string) => {
    const answer = (await (await ask({ thinking: { type: 'adaptive', display } })).json()) as Answer;
    const server = await model([reply('ok')]);
    const messages = [
      ...hello.messages,
      { role: 'assistant', content: answer.content },
      { role: 'user', content: 'on' },
    ];
    const next = (await (await post(server, { ...hello, model: 'claude-sonnet-5-5', messages })).json()) as Answer;
    return [answer.usage['output_tokens'], answer.usage['output_tokens_details'], next.usage['input_tokens']];
  };
  expect(await usage('omitted')).toEqual(await usage('summarized'));
});

test('with updates only notes are shown, which needs a header (Thinking, 2026-10)', async () => {
  const updates = { thinking: { type: 'adaptive', display: 'updates' } };
  const noted = [
    reply([thinking('Hm.'), { type: 'thinking', thinking: 'Reading a.txt now.', note: true }, text('Yes.')]),
  ];
  expect(await thoughts(updates, noted, 'thinking-display-updates-2026-08-18')).toEqual(['', 'Reading a.txt now.']);
  const refused = (await (await ask(updates)).json()) as { readonly error: { readonly message: string } };
  expect(refused.error.message).toBe("thinking.adaptive.display: Input should be 'summarized' or 'omitted'");
});

test('notes between tools come with their text (What’s new in Claude Sonnet 5.5, 2026-10)', async () => {
  const script = [reply([{ type: 'thinking', thinking: 'Now the second file.', note: true }, toolUse('read', {})])];
  expect(await thoughts({ thinking: { type: 'between_tools' }, messages: afterCalls('a') }, script)).toEqual([
    'Now the second file.',
  ]);
});

test('with its header deltas estimate the tokens of thinking that is not shown (Thinking, 2026-10)', async () => {
  const counts = async (body: Body) =>
    (await events(body, undefined, 'thinking-token-count-2026-05-13')).flatMap(({ data }) => {
      const delta = data['delta'] as { type?: string; estimated_tokens?: number | null } | undefined;
      return delta?.type === 'thinking_delta' ? [delta.estimated_tokens] : [];
    });
  expect(await counts({})).toEqual([150]);
  expect(new Set(await counts({ thinking: { type: 'adaptive', display: 'summarized' } }))).toEqual(new Set([null]));
});

test('a model that thinks for long sends pings and nothing else until then (Streaming, 2026-08)', async () => {
  const long: ReplyBlock = { type: 'thinking', thinking: thought, silentMs: 100, pingMs: 25 };
  const began = Date.now();
  const names = (await events({}, [reply([long, text('Yes.')])])).map(({ event }) => event);
  expect(Date.now() - began).toBeGreaterThanOrEqual(95);
  expect(names.slice(0, 7)).toEqual([
    'message_start',
    'content_block_start',
    'ping',
    'ping',
    'ping',
    'ping',
    'content_block_delta',
  ]);
});

test('a stream may end well without message_stop, when a script says so', async () => {
  const names = (await events({}, [{ ...said, fault: { withoutMessageStop: true } }])).map(({ event }) => event);
  expect(names.at(-1)).toBe('message_delta');
});
