// Cuts text that goes where there is little room: facts in the history, reasons, notes.
import { toUSVString } from 'node:util';

/** At most `limit` characters, well-formed. */
export function clip(text: string, limit = 2_000): string {
  return toUSVString(text.length <= limit ? text : `${text.slice(0, limit - 1)}…`);
}
