// Small words to write scripts with in TypeScript.
import type { Fault, Reply, ReplyBlock } from './script.ts';

export function text(value: string): ReplyBlock {
  return { type: 'text', text: value };
}

export function thinking(value: string): ReplyBlock {
  return { type: 'thinking', thinking: value };
}

export function toolUse(name: string, input: unknown, id?: string): ReplyBlock {
  return { type: 'tool_use', name, input, ...(id === undefined ? {} : { id }) };
}

type Options = Omit<Reply, 'content'>;

/** A text alone stands for one text block. */
export function reply(content: string | readonly ReplyBlock[], options: Options = {}): Reply {
  return { content: typeof content === 'string' ? [text(content)] : content, ...options };
}

/** A reply that goes wrong. `content` is what it says as far as it comes. */
export function fault(what: Fault, content: string | readonly ReplyBlock[] = 'scripted', options: Options = {}): Reply {
  return { ...reply(content, options), fault: what };
}

/** Give `hold` to a reply, and its stream stops there until `release` is called. */
export function gate(): { readonly hold: Promise<void>; release(): void } {
  const opened = new AbortController();
  const hold = new Promise<void>((resolve) => {
    opened.signal.addEventListener('abort', () => resolve());
  });
  return { hold, release: () => opened.abort() };
}
