// Finds a call in the reply it was made in: the stored reply is the only source of a call's input.
import type { CallBlock } from '../model/judge.ts';
import { lastReply, type View } from '../transcript/view/view.ts';

/** The tool_use at block `index` of the view's last reply. Throws when there is none: the loop asked for what it was not given. */
export function storedCall(view: View, index: number): CallBlock {
  const block = lastReply(view)?.reply.message.content[index];
  if (block?.type !== 'tool_use') {
    throw new Error(`session ${view.session}: block ${index} of the last reply is no call`);
  }
  const { id, name, input } = block;
  return { index, id, name, input };
}
