// Explains to people how a session was kept within the model's window: nothing is lost, the model
// only sees less.
import { formatCount, formatTokens } from '../units.ts';
import type { Entry } from '../../store/log/entries.ts';
import type { LiveEvent } from '../../store/live/events.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';

/** Entries that change what the model sees of others. */
export type ContextEntry = Extract<
  Entry,
  { readonly kind: 'boundary' | 'microcompact' | 'collapse_staged' | 'collapse_committed' | 'snip' }
>;

/** Returns the command that prints the whole transcript. */
export function fullCommand(session: SessionId): string {
  return `perdure show ${session} --full`;
}

/** Describes a context entry. `full` is the command that prints what the model no longer sees. */
export function contextText(entry: ContextEntry, full: string): string {
  switch (entry.kind) {
    case 'boundary': {
      const prompts = entry.prompts.length > 0 ? ` and ${formatCount(entry.prompts.length, 'prompt')} before` : '';
      const view = `the model sees a summary, all from entry ${entry.from} on${prompts}`;
      return `${compactionWords(entry)}, ${sizeChange(entry)}: ${view}; the full text: ${full}`;
    }
    case 'microcompact': {
      const { results, before, freed } = entry;
      const which = results === undefined ? 'tool results' : formatCount(results, 'tool result');
      return `${which} before entry ${before} ${results === 1 ? 'is' : 'are'} shown to the model as a marker, ${formatTokens(freed)} freed`;
    }
    case 'collapse_staged':
      return `a short form of entries ${entry.from} to ${entry.to - 1} is ready`;
    case 'collapse_committed':
      return `${formatCount(entry.count, 'old stretch', 'old stretches')} now shown to the model in short form; the full text: ${full}`;
    case 'snip':
      return `the model no longer sees ${entriesAt(entry.entries)}`;
  }
}

/** Events that stand for an entry with the same facts. */
type ShortenedEvent = Extract<LiveEvent, { readonly type: 'microcompact' | 'collapse_committed' | 'snip' }>;

export function shortenedText({ type, ...facts }: ShortenedEvent, full: string): string {
  return contextText({ kind: type, ...facts } as ContextEntry, full);
}

type ContextEvent = Extract<
  LiveEvent,
  { readonly type: 'compaction_start' | 'compaction_end' | 'collapse_staged' | 'hook_start' | 'hook_end' }
>;

export function compactionText(
  event: Extract<ContextEvent, { readonly type: 'compaction_end' }>,
  full: string,
): string {
  const summary = `a summary of ${formatCount(event.summary.length, 'character')} stands for the rest`;
  return `${compactionWords(event)}, ${sizeChange(event)}: ${formatCount(event.kept, 'entry', 'entries')} kept word for word, ${summary}; the full text: ${full}`;
}

/**
 * A model that checks what stood before its thinking gets earlier thinking back only if the API
 * made the summary.
 */
function compactionWords({
  signed,
  keepsThinking,
}: {
  readonly signed?: unknown;
  readonly keepsThinking?: boolean;
}): string {
  if (!signed) return 'compacted';
  return keepsThinking ? 'compacted by the API, thinking since is kept' : 'compacted by the API';
}

export function describeStaged({
  savings,
}: Pick<Extract<ContextEvent, { readonly type: 'collapse_staged' }>, 'savings'>): string {
  const saved = savings.reduce((sum, saving) => sum + saving, 0);
  return `short forms of ${formatCount(savings.length, 'old stretch', 'old stretches')} are ready, ${formatTokens(saved)} to be saved`;
}

function sizeChange({ before, after }: { readonly before: number; readonly after: number }): string {
  return `about ${before.toLocaleString('en')} → ${formatTokens(after)}`;
}

function entriesAt(positions: readonly number[]): string {
  const visible = positions.slice(0, 20).join(', ');
  const hidden = positions.length - 20;
  return `${positions.length === 1 ? 'entry' : 'entries'} ${visible}${hidden > 0 ? ` and ${hidden} more` : ''}`;
}
