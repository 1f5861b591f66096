// Tells watchers a stored reply again: the attempt that streamed it died before it could say that it was stored, so what it had
// shown was taken back.
import type { CallLog, Outcome, ReplyEntry } from '../transcript/entries.ts';
import type { LiveWriter } from './events.ts';

export function retell(live: LiveWriter, reply: ReplyEntry, outcomes: readonly Outcome[]): void {
  const { iteration, message, fate } = reply;
  live.write({ type: 'request_start', iteration, attempt: reply.attempt, model: message.model });
  message.content.forEach((block, index) => {
    if (block.type === 'text') live.write({ type: 'text_delta', iteration, index, text: block.text });
    else if (block.type === 'thinking') live.write({ type: 'thinking_delta', iteration, index, text: block.thinking });
    else if (block.type === 'tool_use') {
      const { id, name, input } = block;
      live.write({ type: 'tool_use', iteration, index, id, name, input });
    }
  });
  for (const { index, log, isError, content } of outcomes) {
    live.write({ type: 'tool_start', iteration, index, name: log.name, early: true });
    live.write(toolEnd(iteration, { index, isError, content, log }));
  }
  live.write({ type: 'reply', iteration, stopReason: message.stop_reason, fate });
}

/** Watchers see this much of an outcome, in characters. */
export const SHOWN_OF_OUTCOME = 8_192;

export function toolEnd(
  iteration: number,
  { index, isError, content, log }: Pick<Outcome, 'index' | 'isError' | 'content' | 'log'>,
): Extract<Parameters<LiveWriter['write']>[0], { type: 'tool_end' }> {
  const shown = { index, name: log.name, isError, content: content.slice(0, SHOWN_OF_OUTCOME) };
  const untimed = isUntimed(log) ? { untimed: true as const } : {};
  return { type: 'tool_end', iteration, ...shown, durationMs: log.duration, ...untimed };
}

/** What was measured is no tool's time: it did not run, or not here. */
export function isUntimed({ outcome }: Pick<CallLog, 'outcome'>): boolean {
  return outcome === 'not_run' || outcome === 'unknown';
}
