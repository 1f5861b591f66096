// What has happened since the demo task was given, read from the request alone: the server keeps nothing of a demo.
import type { MessageParam } from '@anthropic-ai/sdk/resources/messages';
import { blocksOf, toolResultsIn } from '../read-request.ts';
import type { ParsedRequest } from '../script.ts';
import { isDemoTask } from './demo-task.ts';

export type DoneCall = {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
  readonly output: string;
  readonly isError: boolean;
};

/** The calls of each reply since the task, with their results; null when the last thing a user said is not the task. */
export function roundsOf(request: ParsedRequest): readonly (readonly DoneCall[])[] | null {
  const start = request.messages.findLastIndex((message) => prompts(message).length > 0);
  const task = request.messages[start];
  if (task === undefined || !prompts(task).some(isDemoTask)) return null;
  const since = request.messages.slice(start + 1);
  return since.flatMap((message, index) => (message.role === 'assistant' ? [callsOf(message, since[index + 1])] : []));
}

/** What a user said in a message. A text wholly inside a tag was put there by the program. */
function prompts(message: MessageParam): readonly string[] {
  if (message.role !== 'user') return [];
  const texts = blocksOf(message.content).flatMap((block) => (block.type === 'text' ? [block.text] : []));
  return texts.filter((text) => !/^\s*<([a-z][\w-]*)>[^]*<\/\1>\s*$/i.test(text));
}

function callsOf(reply: MessageParam, next: MessageParam | undefined): readonly DoneCall[] {
  const results = new Map(toolResultsIn(next === undefined ? [] : blocksOf(next.content)).map((one) => [one.id, one]));
  return blocksOf(reply.content).flatMap((block) => {
    if (block.type !== 'tool_use') return [];
    const result = results.get(block.id);
    const input = block.input as DoneCall['input'];
    return [{ name: block.name, input, output: result?.text ?? '', isError: result?.isError ?? true }];
  });
}
