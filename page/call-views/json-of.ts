// The input of a call as text that a person reads and changes.
import { escapeUnseen } from '../../system/text.ts';

/** Escapes unseen characters; JSON reads the escapes back as the characters that they were. */
export function jsonOf(input: unknown): string {
  const json = JSON.stringify(input, null, 2) ?? 'null';
  return json.split('\n').map(escapeUnseen).join('\n');
}
