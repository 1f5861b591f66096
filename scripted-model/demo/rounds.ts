// Reads from the request alone how far the demo task has come: the server keeps nothing of a demo.
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { toBlocks, listToolResults } from '../read-request.ts';
import type { ParsedRequest } from '../script.ts';
import { isDemoTask } from './demo-task.ts';

export type DoneCall = {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: string;
  readonly isError: boolean;
};

/**
 * Returns the calls of each reply since the task, with their results; null when the user's last
 * words are not the task.
 */
export function readRounds(request: ParsedRequest): readonly (readonly DoneCall[])[] | null {
  const start = request.messages.findLastIndex((message) => listPrompts(message).length > 0);
  const task = request.messages[start];
  if (task === undefined || !listPrompts(task).some(isDemoTask)) return null;
  const since = request.messages.slice(start + 1);
  return since.flatMap((message, index) =>
    message.role === 'assistant' ? [readCalls(message, since[index + 1])] : [],
  );
}

/** Returns a user's words in a message. A text wholly inside a tag was put there by the program. */
function listPrompts(message: MessageParam): readonly string[] {
  if (message.role !== 'user') return [];
  const texts = toBlocks(message.content).flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.filter((text) => !/^\s*<([a-z][\w-]*)>[^]*<\/\1>\s*$/i.test(text));
}

function readCalls(reply: MessageParam, next: MessageParam | undefined): readonly DoneCall[] {
  const results = new Map(
    listToolResults(next === undefined ? [] : toBlocks(next.content)).map((one) => [one.id, one]),
  );
  return toBlocks(reply.content).flatMap((block) => {
    if (block.type !== 'tool_use') return [];
    const result = results.get(block.id);
    const input = block.input as DoneCall['input'];
    return [{ name: block.name, input, output: result?.text ?? '', isError: result?.isError ?? true }];
  });
}
