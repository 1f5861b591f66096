// Sends a stored reply to watchers as live events.
import { searchQueryOf } from '../transcript/server-tools.ts';
import type { CallLog, Outcome, ReplyEntry } from '../log/entries.ts';
import type { LiveWriter, LiveEvent } from './events.ts';
import type { Hash } from '../../workflows/contract/ids.ts';

/**
 * Tells watchers a stored reply again: the attempt that streamed it died before it could say that
 * it was stored, so its events were taken back.
 */
export function retellReply(live: LiveWriter, reply: ReplyEntry, outcomes: readonly Outcome[]): void {
  for (const event of listContentEvents(reply)) live.write(event);
  for (const outcome of outcomes) for (const event of listOutcomeEvents(reply, outcome, true)) live.write(event);
  live.write(replyEvent(reply));
}

/** Returns the events of a reply, from its request on: its words and calls. */
export function listContentEvents({
  iteration,
  message,
  attempt,
}: Pick<ReplyEntry, 'iteration' | 'message' | 'attempt'>): readonly LiveEvent[] {
  const blocks = message.content.flatMap((block, index): LiveEvent[] => {
    if (block.type === 'text') return [{ type: 'text_delta', iteration, index, text: block.text }];
    if (block.type === 'thinking') return [{ type: 'thinking_delta', iteration, index, text: block.thinking }];
    const query = searchQueryOf(block);
    if (query !== null) return [{ type: 'web_search', iteration, index, query }];
    if (block.type !== 'tool_use') return [];
    const { id, name, input } = block;
    return [{ type: 'tool_use', iteration, index, id, name, input }];
  });
  return [{ type: 'request_start', iteration, attempt, model: message.model }, ...blocks];
}

export function listOutcomeEvents({ iteration }: ReplyEntry, outcome: Outcome, early: boolean): readonly LiveEvent[] {
  const { index, log } = outcome;
  return [{ type: 'tool_start', iteration, index, name: log.name, early }, toolEndEvent(iteration, outcome)];
}

/** `head` is the head that the reply is stored under, where it is known to stay. */
export function replyEvent(
  { iteration, message, fate, spend }: Pick<ReplyEntry, 'iteration' | 'message' | 'fate' | 'spend'>,
  head?: Hash,
): LiveEvent {
  return { type: 'reply', iteration, stopReason: message.stop_reason, fate, ...(head && { head }), spend };
}

/** Characters of an outcome that watchers see: the beginning, or the end of a failure. */
export const SHOWN_OF_OUTCOME = 8_192;

export function toolEndEvent(
  iteration: number,
  { index, isError, content, log }: Pick<Outcome, 'index' | 'isError' | 'content' | 'log'>,
): Extract<LiveEvent, { type: 'tool_end' }> {
  const part = isError ? content.slice(-SHOWN_OF_OUTCOME) : content.slice(0, SHOWN_OF_OUTCOME);
  const result = { index, name: log.name, isError, content: part };
  const untimed = isUntimed(log) ? { untimed: true as const } : {};
  return { type: 'tool_end', iteration, ...result, durationMs: log.duration, ...untimed };
}

/** Tells whether the time says nothing of the tool: it did not run, or its end is unknown. */
export function isUntimed({ outcome }: Pick<CallLog, 'outcome'>): boolean {
  return outcome === 'not_run' || outcome === 'unknown';
}
