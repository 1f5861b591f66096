// Reads the answer of a run so far: the one text that an output schema is held against, that stop
// hooks see and that is its result.
import type { TransitionReason } from '../../workflows/contract/loop.ts';
import type { Entry, ReplyEntry } from '../log/entries.ts';
import type { Message } from '@anthropic-ai/sdk/resources/messages';

/** A view of a transcript, or the entries of a run. */
type EntryList = { readonly length: number; at(position: number): Entry | undefined };

/**
 * Joins the last reply with the pieces before it that it continues (L27). Reads no further back
 * than the first of them.
 */
export function finalText(entries: EntryList): string {
  return finalPieces(entries)
    .map((position) => messageText((entries.at(position) as ReplyEntry).message))
    .join('');
}

/** Returns the positions of the pieces, oldest first. */
export function finalPieces(entries: EntryList): readonly number[] {
  const pieces: number[] = [];
  let continued: boolean | null = true;
  for (let position = entries.length - 1; position >= 0 && continued !== false; position -= 1) {
    const entry = entries.at(position);
    if (entry?.kind === 'reply') {
      if (continued === null) break;
      pieces.unshift(position);
      continued = null;
    } else if (entry) {
      continued ??= isContinued(entry);
    }
  }
  return pieces;
}

/** Transitions that make the same request again in another way: it still continues what it did. */
const RETRIES: ReadonlySet<TransitionReason> = new Set<TransitionReason>([
  'collapse_drain_retry',
  'reactive_compact_retry',
  'max_output_tokens_escalate',
  'model_fallback',
]);

/**
 * Tells whether a reply after this entry continues the one before it; null where an earlier entry
 * decides.
 */
function isContinued(entry: Entry): boolean | null {
  switch (entry.kind) {
    case 'run_started':
      return false;
    case 'notice':
      // A summing-up of the run continues nothing (L51).
      return entry.notice.kind === 'wrap_up' ? false : null;
    case 'transition':
      return RETRIES.has(entry.reason) ? null : entry.reason === 'max_output_tokens_recovery';
    default:
      return null;
  }
}

/** Returns the text blocks of a message, joined as they came, without its calls. */
export function messageText({ content }: Pick<Message, 'content'>): string {
  return content.map((block) => (block.type === 'text' ? block.text : '')).join('');
}
