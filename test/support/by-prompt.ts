// A scripted model for several conversations at once: each is known by the first thing that it was
// told, and has replies of its own.
import { toolUse, type ParsedRequest, type Reply, type ReplyBlock } from '../../scripted-model/index.ts';

/** A call of an agent whose conversation begins with `prompt`. */
export function agentCall(prompt: string, more: object = {}): ReplyBlock {
  return toolUse('agent', { description: `Title of ${prompt}`.slice(0, 100), prompt, ...more });
}

export function promptOf({ messages }: ParsedRequest): string {
  const content = messages[0]?.content ?? '';
  if (typeof content === 'string') return content;
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}

/** In the order of its requests. */
export function byPrompt(
  scripts: Readonly<Record<string, readonly Reply[]>>,
): (request: ParsedRequest) => Reply | undefined {
  const left = new Map(Object.entries(scripts).map(([prompt, replies]) => [prompt, [...replies]]));
  return (request) => left.get(promptOf(request))?.shift();
}

/** By what the conversation has so far: a request that a killed worker makes again has the same reply. */
export function byTurn(
  scripts: Readonly<Record<string, readonly Reply[]>>,
): (request: ParsedRequest) => Reply | undefined {
  return (request) => scripts[promptOf(request)]?.[request.messages.filter(({ role }) => role === 'assistant').length];
}
