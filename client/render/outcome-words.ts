// How a call came out, for people: what its result does not say by itself, and who allowed it.
import type { Outcome } from '../../activities/transcript/log/entries.ts';

/** Nothing of a call that ran as the model asked for it, whether it failed or not: its result says so. */
export function outcomeWords({ content, log }: Pick<Outcome, 'content' | 'log'>): readonly string[] {
  const how = endWord(log);
  // Most results begin with it.
  const said = how === null || content.slice(0, LOOKED_AT).toLowerCase().includes(how);
  return [...(said ? [] : [how]), ...approvedWords(log)];
}

/** Characters of a result whose beginning is shown. */
const LOOKED_AT = 100;

/** Null: it ran to its end. */
export function endWord({ decision, outcome }: Pick<Outcome['log'], 'decision' | 'outcome'>): string | null {
  if (decision === 'denied') return 'denied';
  switch (outcome) {
    case 'not_run':
      return 'not run';
    case 'unknown':
      return 'outcome unknown';
    case 'cancelled':
      return 'cancelled';
    case 'ok':
    case 'error':
      return null;
  }
}

function approvedWords({ approved }: Pick<Outcome['log'], 'approved'>): readonly string[] {
  if (approved === undefined) return [];
  return [approved.editedHash === undefined ? 'a person allowed it' : 'a person allowed it with another input'];
}
