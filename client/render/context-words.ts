// What was done to keep a session within the model's window, for people: nothing of it is lost, the model only sees less.
import type { LiveEvent } from '../../activities/live/events.ts';
import type { Entry } from '../../activities/transcript/log/entries.ts';
import type { SessionId } from '../../workflows/contract/ids.ts';
import { count, tokens } from './units.ts';

/** Entries that change what the model sees of others. */
export type ContextEntry = Extract<
  Entry,
  { readonly kind: 'boundary' | 'microcompact' | 'collapse_staged' | 'collapse_committed' | 'snip' }
>;

/** Prints all of it. */
export function fullCommand(session: SessionId): string {
  return `perdure show ${session} --full`;
}

/** `full`: the command that prints what the model no longer sees. */
export function contextText(entry: ContextEntry, full: string): string {
  switch (entry.kind) {
    case 'boundary': {
      const prompts = entry.prompts.length > 0 ? ` and ${count(entry.prompts.length, 'prompt')} before` : '';
      const kept = `the model sees a summary, all from entry ${entry.from} on${prompts}`;
      return `compacted, ${change(entry)}: ${kept}; the full text: ${full}`;
    }
    case 'microcompact':
      return `tool results before entry ${entry.before} are shown to the model as a marker, ${tokens(entry.freed)} freed`;
    case 'collapse_staged':
      return `a short form of entries ${entry.from} to ${entry.to - 1} is ready`;
    case 'collapse_committed':
      return `${count(entry.count, 'old stretch', 'old stretches')} now shown to the model in short form; the full text: ${full}`;
    case 'snip':
      return `the model no longer sees ${entries(entry.entries)}`;
  }
}

type ContextEvent = Extract<
  LiveEvent,
  { readonly type: 'compaction_start' | 'compaction_end' | 'collapse_staged' | 'hook_start' | 'hook_end' }
>;

export function compactionText(
  event: Extract<ContextEvent, { readonly type: 'compaction_end' }>,
  full: string,
): string {
  const kept = `a summary of ${count(event.summary.length, 'character')} stands for the rest`;
  return `compacted, ${change(event)}: ${count(event.kept, 'entry', 'entries')} kept word for word, ${kept}; the full text: ${full}`;
}

export function stagedText({
  savings,
}: Pick<Extract<ContextEvent, { readonly type: 'collapse_staged' }>, 'savings'>): string {
  const saved = savings.reduce((sum, saving) => sum + saving, 0);
  return `short forms of ${count(savings.length, 'old stretch', 'old stretches')} are ready, ${tokens(saved)} to be saved`;
}

function change({ before, after }: { readonly before: number; readonly after: number }): string {
  return `about ${before.toLocaleString('en')} → ${tokens(after)}`;
}

function entries(positions: readonly number[]): string {
  const shown = positions.slice(0, 20).join(', ');
  const hidden = positions.length - 20;
  return `${positions.length === 1 ? 'entry' : 'entries'} ${shown}${hidden > 0 ? ` and ${hidden} more` : ''}`;
}
