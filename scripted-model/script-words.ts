// Small words to write scripts with in TypeScript.
import type { ReplyBlock, Reply, Fault } from './script.ts';
import { present } from '../workflows/contract/present.ts';

/** Makes a block of a reply: the model says this. */
export function text(value: string): ReplyBlock {
  return { type: 'text', text: value };
}

/** Makes a block of a reply: the model thinks this. */
export function thinking(value: string): ReplyBlock {
  return { type: 'thinking', thinking: value };
}

/** Makes a block of a reply: the model calls this tool. Absent `id`: a new one. */
export function toolUse(name: string, input: unknown, id?: string): ReplyBlock {
  return { type: 'tool_use', name, input, ...present({ id }) };
}

type Options = Omit<Reply, 'content'>;

/** Makes a reply. A text alone stands for one text block. */
export function reply(content: string | readonly ReplyBlock[], options: Options = {}): Reply {
  return { content: typeof content === 'string' ? [text(content)] : content, ...options };
}

/** Makes a reply that goes wrong. `content` is its text as far as it comes. */
export function fault(what: Fault, content: string | readonly ReplyBlock[] = 'scripted', options: Options = {}): Reply {
  return { ...reply(content, options), fault: what };
}

/** Makes a gate: give `hold` to a reply, and its stream stops there until `release` is called. */
export function gate(): { readonly hold: Promise<void>; release(): void } {
  const opened = new AbortController();
  const hold = new Promise<void>((resolve) => {
    opened.signal.addEventListener('abort', () => resolve());
  });
  return { hold, release: () => opened.abort() };
}
