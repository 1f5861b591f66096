// Shows watchers what a step appends to the transcript before it does anything else.
import { queryOf } from '../transcript/server-tools.ts';
import type { Entry, CallLog, Outcome, ReplyEntry } from '../log/entries.ts';
import { mediaNote } from '../log/bodies.ts';
import { reasonOf } from '../../system/text.ts';
import type { LiveWriter, LiveEvent } from './events.ts';
import type { Hash } from '../../workflows/contract/ids.ts';

/** Prompts are shown up to this many characters; the transcript has them whole. */
const SHOWN = 8_192;

export function announce(live: LiveWriter, entries: readonly Entry[]): void {
  for (const entry of entries) {
    if (entry.kind === 'transition') {
      live.write({ type: 'transition', iteration: entry.iteration, reason: entry.reason });
    } else if (entry.kind === 'notice') {
      live.write({ type: 'notice', notice: entry.notice });
    } else if (entry.kind === 'steered') {
      live.write({ type: 'steered', steered: entry.steered });
    } else if (entry.kind === 'user') {
      const { body } = entry;
      const text = body.kind === 'text' ? body.text : `(a prompt of ${body.bytes} bytes)`;
      live.write({ type: 'user', id: entry.id, text: text.slice(0, SHOWN) + mediaNote(body) });
    }
  }
}

/** `at`: its position among `entries`; nothing is told of another entry (L60). */
export function tellBoundary(live: LiveWriter, iteration: number, entries: readonly Entry[], at: number): void {
  const boundary = entries[at];
  if (boundary?.kind !== 'boundary') return;
  const { before, after, summary, from, prompts, signed: block, keepsThinking } = boundary;
  const kept = at - from + prompts.length;
  const by = { ...(block && { signed: true as const }), ...(keepsThinking && { keepsThinking }) };
  live.write({ type: 'compaction_end', iteration, before, after, kept, summary, ...by });
}

// How an attempt that stores or does not store ends for watchers: without a head, what it showed is
// void.

type Ended = { readonly kind: string; readonly head?: Hash; readonly detail?: string };

/** An error that the loop may recover from is not told before recovery has failed (L17). */
const WITHHELD: readonly string[] = ['too_long', 'media_too_large'];

/**
 * Returns `result`. Without a detail its kind says why; `nothing` is what a stop leaves of a
 * compaction (L47).
 */
export async function finish<Result extends Ended>(live: LiveWriter, result: Result): Promise<Result> {
  const { head } = result;
  if (head !== undefined) await live.end({ type: 'fate', fate: 'stored', head });
  else await live.end({ type: 'fate', fate: 'died', why: whyDied(result) });
  return result;
}

function whyDied({ kind, detail }: Ended): string {
  if (WITHHELD.includes(kind)) return 'it is tried another way';
  return detail ?? (kind === 'nothing' ? 'cancelled' : kind);
}

// An attempt that fails tells its watchers before it fails: what it had shown is void (L16).

/** Returns as `body` does, or throws as it does, once the channel has said so. */
export async function tellIfDies<Result>(live: LiveWriter, body: () => Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    await live.end({ type: 'fate', fate: 'died', why: reasonOf(error) });
    throw error;
  }
}

// Tells watchers a stored reply again: the attempt that streamed it died before it could say that
// it was stored, so what it had shown was taken back.

export function retell(live: LiveWriter, reply: ReplyEntry, outcomes: readonly Outcome[]): void {
  for (const event of contentEvents(reply)) live.write(event);
  for (const outcome of outcomes) for (const event of outcomeEvents(reply, outcome, true)) live.write(event);
  live.write(replyEvent(reply));
}

/** The events of a reply, from its request on: its words and calls. */
export function contentEvents({
  iteration,
  message,
  attempt,
}: Pick<ReplyEntry, 'iteration' | 'message' | 'attempt'>): readonly LiveEvent[] {
  const blocks = message.content.flatMap((block, index): LiveEvent[] => {
    if (block.type === 'text') return [{ type: 'text_delta', iteration, index, text: block.text }];
    if (block.type === 'thinking') return [{ type: 'thinking_delta', iteration, index, text: block.thinking }];
    const query = queryOf(block);
    if (query !== null) return [{ type: 'web_search', iteration, index, query }];
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

/** `head`: under which it is stored, where it is known to stay. */
export function replyEvent(
  { iteration, message, fate, spend }: Pick<ReplyEntry, 'iteration' | 'message' | 'fate' | 'spend'>,
  head?: Hash,
): LiveEvent {
  return { type: 'reply', iteration, stopReason: message.stop_reason, fate, ...(head && { head }), spend };
}

/** Watchers see this much of an outcome, in characters: of a failure its end. */
export const SHOWN_OF_OUTCOME = 8_192;

export function toolEnd(
  iteration: number,
  { index, isError, content, log }: Pick<Outcome, 'index' | 'isError' | 'content' | 'log'>,
): Extract<LiveEvent, { type: 'tool_end' }> {
  const part = isError ? content.slice(-SHOWN_OF_OUTCOME) : content.slice(0, SHOWN_OF_OUTCOME);
  const shown = { index, name: log.name, isError, content: part };
  const untimed = isUntimed(log) ? { untimed: true as const } : {};
  return { type: 'tool_end', iteration, ...shown, durationMs: log.duration, ...untimed };
}

/** The time measured is not a tool's: it did not run, or not here. */
export function isUntimed({ outcome }: Pick<CallLog, 'outcome'>): boolean {
  return outcome === 'not_run' || outcome === 'unknown';
}
