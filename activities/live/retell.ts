// Tells watchers a stored reply again: the attempt that streamed it died before it could say that it was stored, so what it had
// shown was taken back.
import type { CallLog, Outcome, ReplyEntry } from '../transcript/log/entries.ts';
import type { LiveEvent, LiveWriter } from './events.ts';

export function retell(live: LiveWriter, reply: ReplyEntry, outcomes: readonly Outcome[]): void {
  for (const event of contentEvents(reply)) live.write(event);
  for (const outcome of outcomes) for (const event of outcomeEvents(reply, outcome, true)) live.write(event);
  live.write(replyEvent(reply));
}

/** What a reply says and calls, from its request on. */
export function contentEvents({ iteration, message, attempt }: ReplyEntry): readonly LiveEvent[] {
  const blocks = message.content.flatMap((block, index): LiveEvent[] => {
    if (block.type === 'text') return [{ type: 'text_delta', iteration, index, text: block.text }];
    if (block.type === 'thinking') return [{ type: 'thinking_delta', iteration, index, text: block.thinking }];
    if (block.type !== 'tool_use') return [];
    const { id, name, input } = block;
    return [{ type: 'tool_use', iteration, index, id, name, input }];
  });
  return [{ type: 'request_start', iteration, attempt, model: message.model }, ...blocks];
}

export function outcomeEvents({ iteration }: ReplyEntry, outcome: Outcome, early: boolean): readonly LiveEvent[] {
  const { index, log } = outcome;
  return [{ type: 'tool_start', iteration, index, name: log.name, early }, toolEnd(iteration, outcome)];
}

export function replyEvent({ iteration, message, fate }: ReplyEntry): LiveEvent {
  return { type: 'reply', iteration, stopReason: message.stop_reason, fate };
}

/** Watchers see this much of an outcome, in characters. */
export const SHOWN_OF_OUTCOME = 8_192;

export function toolEnd(
  iteration: number,
  { index, isError, content, log }: Pick<Outcome, 'index' | 'isError' | 'content' | 'log'>,
): Extract<LiveEvent, { type: 'tool_end' }> {
  const shown = { index, name: log.name, isError, content: content.slice(0, SHOWN_OF_OUTCOME) };
  const untimed = isUntimed(log) ? { untimed: true as const } : {};
  return { type: 'tool_end', iteration, ...shown, durationMs: log.duration, ...untimed };
}

/** What was measured is no tool's time: it did not run, or not here. */
export function isUntimed({ outcome }: Pick<CallLog, 'outcome'>): boolean {
  return outcome === 'not_run' || outcome === 'unknown';
}
