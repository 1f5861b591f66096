// Makes the messages of the outcomes of calls: one for each, with the structure that the SDK's tool
// answers with as `tool_use_result`.
import type { UUID } from 'node:crypto';
import { present } from '../faces/basics.ts';
import type { Outcome, ReplyEntry } from '../faces/types.ts';
import { outwardInput, outwardName } from './names.ts';
import type { SDKUserMessage } from './shapes/messages.ts';
import { toolResponse } from './tool-responses.ts';
import { uuidOf } from './values.ts';

/** `reply` has the calls. Without it the structure is unknown, and the text takes its place. */
export function resultMessages(
  session: string,
  outcomes: readonly Outcome[],
  position: number,
  reply: ReplyEntry | null,
): readonly SDKUserMessage[] {
  return outcomes.map((outcome, at) => ({
    type: 'user',
    message: { role: 'user', content: [resultBlock(outcome)] },
    tool_use_result: structureOf(outcome, reply),
    session_id: session,
    uuid: resultUuid(session, position, at),
    parent_tool_use_id: null,
  }));
}

/** The id of the message of an outcome, by its place in its entry. */
export function resultUuid(session: string, position: number, at: number): UUID {
  return at === 0 ? uuidOf(session, position) : uuidOf(session, position, at);
}

function resultBlock({ toolUseId, content, isError }: Outcome) {
  const facts = { tool_use_id: toolUseId, content };
  return { type: 'tool_result' as const, ...facts, ...present({ is_error: isError || undefined }) };
}

function structureOf({ index, content: text, isError, log }: Outcome, reply: ReplyEntry | null): unknown {
  if (isError) return `Error: ${text}`;
  const call = reply?.message.content[index];
  if (call?.type !== 'tool_use') return text;
  return toolResponse(outwardName(call.name), outwardInput(call.name, call.input), { text, ms: log.duration });
}
