// A conversation with the scripted model whose every reply thinks, as an append-only client has it:
// what the tests of the prefix check edit.
import { reply, text, thinking, toolUse, type Reply } from '../../scripted-model/index.ts';
import type { ScriptedModelOptions } from '../../scripted-model/index.ts';
import { model, post, refusal, type Body } from './support.ts';

export type Message = { readonly role: string; readonly content: unknown };

export type Sent = { readonly status: number; readonly message: string; readonly answer: Answer };

export type Answer = {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly stop_reason: string | null;
  readonly input_transformations?: readonly object[];
  readonly usage: Readonly<Record<string, unknown>>;
};

export const CONTROLS = 'thinking-binding-controls-2026-08-01';

export const tool = { name: 'read', description: 'Reads.', input_schema: { type: 'object' } };

export const user = (content: unknown): Message => ({ role: 'user', content });

export const dropping = (type = 'adaptive') => ({ type, block_binding: { prefix_mismatch_behavior: 'drop_block' } });

export const thinks = (n: number): Reply => reply([thinking(`Thought ${n}.`), text(`Answer ${n}.`)]);

export const calls = (n: number): Reply =>
  reply([thinking(`Thought ${n}.`), toolUse('read', { path: `${n}.txt` }, `toolu_${n}`)]);

export const base: Body = { model: 'claude-sonnet-5-5', max_tokens: 1_000, system: 'Be brief.', tools: [tool] };

/** `say` adds a message and what is answered to it; `send` sends any messages and keeps nothing. */
export async function conversation(options: Partial<ScriptedModelOptions> = {}, body: Body = {}) {
  const server = await model((_request, n) => thinks(n), options);
  const messages: Message[] = [];
  const send = async (changed: readonly Message[], more: Body = {}, ...betas: readonly string[]): Promise<Sent> => {
    const sent = { ...base, ...body, messages: changed, ...more };
    const header = betas.length === 0 ? {} : { 'anthropic-beta': betas.join(',') };
    const response = await post(server, sent, header);
    if (response.status === 200) {
      return { status: 200, message: '', answer: (await response.json()) as Answer };
    }
    return { answer: { content: [], stop_reason: null, usage: {} }, ...(await refusal(response)) };
  };
  const say = async (content: unknown, more: Body = {}, ...betas: readonly string[]): Promise<Sent> => {
    messages.push(user(content));
    const sent = await send(messages, more, ...betas);
    if (sent.status === 200) messages.push({ role: 'assistant', content: sent.answer.content });
    return sent;
  };
  return { server, messages, send, say };
}

/** Three turns of it, all with thinking. */
export async function threeTurns(options: Partial<ScriptedModelOptions> = {}, body: Body = {}) {
  const talk = await conversation(options, body);
  for (const word of ['one', 'two', 'three']) await talk.say(word);
  return talk;
}

export const BOUND =
  'Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to "drop_block".';

/** The messages without the thinking of the replies at these places. */
export function stripped(messages: readonly Message[], ...places: readonly number[]): Message[] {
  return messages.map((message, at) =>
    places.includes(at)
      ? { ...message, content: (message.content as { type: string }[]).filter(({ type }) => type !== 'thinking') }
      : message,
  );
}
