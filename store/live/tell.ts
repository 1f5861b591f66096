// Shows watchers what a step appends to the transcript before it does anything else, and how an
// attempt ends.
// Sends a stored reply to watchers as live events.
import { reasonOf } from '../../system/text.ts';
import type { Hash } from '../../workflows/contract/ids.ts';
import { mediaNote } from '../log/bodies.ts';
import type { CallLog, Entry, Outcome, ReplyEntry } from '../log/entries.ts';
import { searchQueryOf } from '../transcript/server-tools.ts';
import type { LiveEvent, LiveWriter } from './events.ts';

/** Watchers see prompts up to this many characters; the transcript has them whole. */
const LONGEST_SHOWN = 8_192;

export function announceEntries(live: LiveWriter, entries: readonly Entry[]): void {
  for (const entry of entries) {
    if (entry.kind === 'transition') {
      live.write({ type: 'transition', iteration: entry.iteration, reason: entry.reason });
    } else if (entry.kind === 'notice') {
      live.write({ type: 'notice', notice: entry.notice });
    } else if (entry.kind === 'steered') {
      live.write({ type: 'steered', steered: entry.steered });
    } else if (entry.kind === 'microcompact' || entry.kind === 'collapse_committed' || entry.kind === 'snip') {
      const { kind: type, ...facts } = entry;
      live.write({ type, ...facts } as LiveEvent);
    } else if (entry.kind === 'user') {
      const { body } = entry;
      const text = body.kind === 'text' ? body.text : `(a prompt of ${body.bytes} bytes)`;
      live.write({ type: 'user', id: entry.id, text: text.slice(0, LONGEST_SHOWN) + mediaNote(body) });
    }
  }
}

/**
 * Announces the boundary at position `at` of `entries`; does nothing when another entry is there
 * (L60).
 */
export function announceBoundary(live: LiveWriter, iteration: number, entries: readonly Entry[], at: number): void {
  const boundary = entries[at];
  if (boundary?.kind !== 'boundary') return;
  const { before, after, summary, from, prompts, signed: block, keepsThinking } = boundary;
  const remaining = at - from + prompts.length;
  const maker = { ...(block && { signed: true as const }), ...(keepsThinking && { keepsThinking }) };
  live.write({ type: 'compaction_end', iteration, before, after, kept: remaining, summary, ...maker });
}

type StepResult = { readonly kind: string; readonly head?: Hash; readonly detail?: string };

/** Errors that the loop may recover from are not told before recovery has failed (L17). */
const WITHHELD: readonly string[] = ['too_long', 'media_too_large'];

/**
 * Ends the attempt for watchers and returns `result`. Without a head its events are void, and its
 * detail, or else its kind, says why; `nothing` is what a stop leaves of a compaction (L47).
 */
export async function endWithResult<Result extends StepResult>(live: LiveWriter, result: Result): Promise<Result> {
  const { head } = result;
  if (head !== undefined) await live.end({ type: 'fate', fate: 'stored', head });
  else await live.end({ type: 'fate', fate: 'died', why: whyDied(result) });
  return result;
}

function whyDied({ kind, detail }: StepResult): string {
  if (WITHHELD.includes(kind)) return 'it is tried another way';
  return detail ?? (kind === 'nothing' ? 'cancelled' : kind);
}

/**
 * Runs `body`. When it throws, the watchers are first told that the attempt died, which voids its
 * events (L16).
 */
export async function endIfThrows<Result>(live: LiveWriter, body: () => Promise<Result>): Promise<Result> {
  try {
    return await body();
  } catch (error) {
    await live.end({ type: 'fate', fate: 'died', why: reasonOf(error) });
    throw error;
  }
}

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
