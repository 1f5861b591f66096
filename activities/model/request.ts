// The request of one iteration: what is fixed for the run, what the model sees of the transcript, and where the prompt cache may
// break (L22): after the system prompt, and at the last two user messages, so that an unchanged prefix is read on the next turn.
import type {
  MessageCreateParamsStreaming,
  MessageParam,
  Tool,
  UserMessageParam,
} from '@anthropic-ai/sdk/resources/messages';
import type { RunConfig } from '../run-config.ts';

const ephemeral = { type: 'ephemeral' } as const;

export function buildRequest(
  config: RunConfig,
  tools: readonly Tool[],
  messages: readonly MessageParam[],
  cap: number,
): MessageCreateParamsStreaming {
  return {
    model: config.model,
    max_tokens: cap,
    stream: true,
    system: [{ type: 'text', text: config.system, cache_control: ephemeral }],
    ...(tools.length > 0 ? { tools: [...tools] } : {}),
    messages: withBreakpoints(messages),
  };
}

function withBreakpoints(messages: readonly MessageParam[]): MessageParam[] {
  const users = messages.flatMap(({ role }, at) => (role === 'user' ? [at] : []));
  const marked = new Set(users.slice(-2));
  return messages.map((message, at) => (marked.has(at) && message.role === 'user' ? withBreakpoint(message) : message));
}

function withBreakpoint(message: UserMessageParam): UserMessageParam {
  const { content } = message;
  const blocks = typeof content === 'string' ? [{ type: 'text' as const, text: content }] : content;
  const last = blocks.at(-1);
  if (last?.type !== 'text' && last?.type !== 'tool_result') return message;
  return { ...message, content: [...blocks.slice(0, -1), { ...last, cache_control: ephemeral }] };
}
