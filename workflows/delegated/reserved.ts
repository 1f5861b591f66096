// What agents of the run under way hold of its limits: the run's own calls do not spend it (L69,
// L71).
import { patched } from '@temporalio/workflow';
import type { Left, Rules } from '../contract/loop.ts';
import { withoutReserved } from './grant.ts';
import { isSome, sumOf } from './shares.ts';

/**
 * Sessions of earlier releases spent a second time what they had granted to a foreground agent that
 * was lost.
 */
const LOST_GRANTS = 'perdure-lost-grants';

type Reserving = { readonly reservedBeside: Left; readonly reservedByCalls: Left };

/**
 * The rules of a run without what its agents may still take, or may have taken unknown to anyone.
 */
export function rulesBeside(rules: Rules, { reservedBeside, reservedByCalls }: Reserving): Rules {
  const all = isSome(reservedByCalls) && patched(LOST_GRANTS);
  return withoutReserved(rules, all ? sumOf([reservedBeside, reservedByCalls]) : reservedBeside);
}
