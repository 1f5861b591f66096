// The ids under which calls are sent: a request may hold none twice, and none of another form.
// Thinking is bound to them as to all that was sent.
import type { Message, MessageParam } from '@anthropic-ai/sdk/resources/messages';
import type { ReplyEntry } from '../log/entries.ts';

export function freeId(id: string, index: number, taken: ReadonlySet<string>): string {
  if (isSendable(id) && !taken.has(id)) return id;
  // Of a reply whose release did not choose: how many were sent before is the same as long as
  // nothing before it goes.
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
 * Other ids for the calls of a new reply at `position`, where theirs are not allowed or were there
 * before: chosen once, for what is sent before a reply goes with a summary, and its thinking is
 * bound to what it was. `taken`: the ids in the request that it answers.
 */
export function idsFor({ content }: Message, position: number, taken: ReadonlySet<string>): Pick<ReplyEntry, 'ids'> {
  const all = new Set(taken);
  const ids = content.flatMap((block, index): [number, string][] => {
    const own = block.type === 'tool_use' ? block.id : undefined;
    // Of calls with one id the first alone is sent.
    if (own === undefined || content.findIndex((each) => each.type === 'tool_use' && each.id === own) < index)
      return [];
    let id = own;
    for (let n = 0; !isSendable(id) || all.has(id); n += 1) id = `call_${position}_${index}${n === 0 ? '' : `_${n}`}`;
    all.add(id);
    return id === own ? [] : [[index, id]];
  });
  return ids.length === 0 ? {} : { ids: Object.fromEntries(ids) };
}
