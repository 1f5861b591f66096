// Post-sampling hooks: told of each stored reply, after it is stored. The loop does not wait for them, and what they come to changes
// nothing (L21). They, and watchers, see the inputs of calls as their tools show them (L18).
import type { Message } from '@anthropic-ai/sdk/resources/messages';
import type { CallRunner, Deps } from '../deps.ts';
import { hookContext } from '../hooks/hook-context.ts';
import { queryName } from '../query-name.ts';
import type { RunConfig } from '../run-config.ts';

/** Returns at once. A reply that is stored just before a crash may go untold. */
export function observe(
  { hooks, warn, tools }: Pick<Deps, 'hooks' | 'warn' | 'tools'>,
  config: RunConfig,
  iteration: number,
  message: Message,
): void {
  if (!hooks.has('postSampling')) return;
  // Not the attempt's: the hook may outlive it, to its own timeout.
  const { signal } = new AbortController();
  const seen = observableMessage(tools, message);
  setImmediate(() => {
    void hooks.postSampling(hookContext(config, { iteration, signal }), seen).then(({ failed }) => {
      for (const { hook, detail } of failed) {
        warn(`post-sampling hook ${hook} of ${queryName(config)}, iteration ${iteration}: ${detail}`);
      }
    });
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
