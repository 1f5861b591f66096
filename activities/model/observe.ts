// Post-sampling hooks: fire and forget (L21). They, and watchers, see the inputs of calls as their tools show them (L18).
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { CallRunner, Deps, ObservedReply } from '../deps.ts';

/** Returns at once. A copy is handed out: what an observer does to it reaches nobody. */
export function observe(
  { observers, warn, tools }: Pick<Deps, 'observers' | 'warn' | 'tools'>,
  reply: ObservedReply,
): void {
  if (observers.length === 0) return;
  const seen = { ...reply, message: observableMessage(tools, reply.message) };
  setImmediate(() => {
    for (const observer of observers) void told(observer, structuredClone(seen), warn);
  });
}

/** Another message; the one that is stored and sent keeps its inputs. */
export function observableMessage({ observable }: Pick<CallRunner, 'observable'>, message: Message): Message {
  const content = message.content.map((block, index) => {
    if (block.type !== 'tool_use') return block;
    const { id, name, input } = block;
    return { ...block, input: observable({ index, id, name, input }) };
  });
  return { ...message, content };
}

async function told(observer: Deps['observers'][number], reply: ObservedReply, warn: Deps['warn']): Promise<void> {
  try {
    await observer(reply);
  } catch (error) {
    warn(`a post-sampling hook failed on session ${reply.session}, iteration ${reply.iteration}: ${String(error)}`);
  }
}
