// What a run has answered so far: the one text that an output schema is held against, that stop hooks see and that is its result.
import type { TransitionReason } from '../../workflows/contract/loop.ts';
import type { Entry } from './entries.ts';
import { messageText } from './message-text.ts';

/** A view of a transcript, or the entries of a run. */
type Entries = { readonly length: number; at(position: number): Entry | undefined };

/** Of the last reply and of the pieces before it that it continues (L27). Reads no further back than the first of them. */
export function finalText(entries: Entries): string {
  const pieces: string[] = [];
  let continued: boolean | null = true;
  for (let position = entries.length - 1; position >= 0 && continued !== false; position -= 1) {
    const entry = entries.at(position);
    if (entry?.kind === 'reply') {
      if (continued === null) break;
      pieces.unshift(messageText(entry.message));
      continued = null;
    } else if (entry) {
      continued ??= continues(entry);
    }
  }
  return pieces.join('');
}

/** The same request made again in another way: what it continues, it still does. */
const retries: ReadonlySet<TransitionReason> = new Set<TransitionReason>([
  'collapse_drain_retry',
  'reactive_compact_retry',
  'max_output_tokens_escalate',
  'model_fallback',
]);

/** Whether what comes after this entry continues the reply before it; null where an earlier entry says. */
function continues(entry: Entry): boolean | null {
  switch (entry.kind) {
    case 'run_started':
      return false;
    case 'notice':
      // What sums up a run continues nothing (L51).
      return entry.notice.kind === 'wrap_up' ? false : null;
    case 'transition':
      return retries.has(entry.reason) ? null : entry.reason === 'max_output_tokens_recovery';
    default:
      return null;
  }
}
