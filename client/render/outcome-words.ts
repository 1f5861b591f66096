// Says how a call came out as far as its result does not, and who allowed it; and what an answer
// aside has cost.
import { totalTokens } from '../../workflows/contract/loop.ts';
import { oneLine } from '../paint.ts';
import type { SideAnswer } from '../sessions/updates/ask-aside.ts';
import { formatCount, formatMoney } from '../units.ts';
import type { Outcome } from '../../store/log/entries.ts';
import { NAME } from './tool-lines.ts';

/**
 * Says how a call came out as far as its result does not, and who allowed it. A call that ran as
 * the model asked yields nothing.
 */
export function outcomeWords({ content, log }: Pick<Outcome, 'content' | 'log'>): readonly string[] {
  const how = log.deniedBy === undefined ? endWord(log) : `denied by ${oneLine(log.deniedBy, NAME)}`;
  // Most results begin with it.
  const isInContent = how === null || content.slice(0, LOOKED_AT).toLowerCase().includes(how);
  return [...(isInContent ? [] : [how]), ...approvalWords(log)];
}

/** Characters of a result whose beginning is shown. */
const LOOKED_AT = 100;

/** Returns null for a call that ran to its end. */
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

/** Says who allowed a call that was put to a person. */
export function approvalWords({ approved }: Pick<Outcome['log'], 'approved'>): readonly string[] {
  if (approved === undefined) return [];
  const who = approved.by === undefined ? 'a person' : oneLine(approved.by, NAME);
  return [`${who} allowed it${approved.editedHash === undefined ? '' : ' with another input'}`];
}

/** Describes the cost of an answer on one line. */
export function asideCost({ model, usage, costUsd, cut }: SideAnswer): string {
  const facts = [`aside, by ${oneLine(model, 100)}`, formatCount(totalTokens(usage), 'token'), formatMoney(costUsd)];
  return [...facts, ...(cut ? ['the rest of the answer is left out'] : [])].join(' · ');
}
