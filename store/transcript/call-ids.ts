// Chooses the ids under which calls are sent: a request may not hold an id twice, nor one of
// another form. Thinking is bound to the ids as to all that was sent.
import type { Message, MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { ReplyEntry } from '../log/entries.ts';

export function chooseFreeId(id: string, index: number, taken: ReadonlySet<string>): string {
  if (isSendable(id) && !taken.has(id)) return id;
  // Earlier releases recorded no choice. The number of ids sent before stays the same as long as
  // nothing before the reply goes.
  for (let n = taken.size; ; n += 1) {
    const other = `call_${n}_${index}`;
    if (!taken.has(other)) return other;
  }
}

function isSendable(id: string): boolean {
  return /^[a-zA-Z0-9_-]+$/.test(id);
}

export function callIdsIn(messages: readonly MessageParam[]): ReadonlySet<string> {
  const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
  return new Set(blocks.flatMap((each) => (each.type === 'tool_use' ? [each.id] : [])));
}

/**
 * Returns other ids for the calls of a new reply at `position`, where theirs are not allowed or
 * came before. They are chosen once: a summary may replace what is sent before the reply, and its
 * thinking is bound to the ids as they were. `taken` holds the ids in the request that it answers.
 */
export function chooseIds({ content }: Message, position: number, taken: ReadonlySet<string>): Pick<ReplyEntry, 'ids'> {
  const all = new Set(taken);
  const ids = content.flatMap((block, index): [number, string][] => {
    const own = block.type === 'tool_use' ? block.id : undefined;
    // Only the first of several calls with one id is sent.
    if (own === undefined || content.findIndex((each) => each.type === 'tool_use' && each.id === own) < index)
      return [];
    let id = own;
    for (let n = 0; !isSendable(id) || all.has(id); n += 1) id = `call_${position}_${index}${n === 0 ? '' : `_${n}`}`;
    all.add(id);
    return id === own ? [] : [[index, id]];
  });
  return ids.length === 0 ? {} : { ids: Object.fromEntries(ids) };
}
