// Who steered a session and how, in words (O12).
import type { OptionChanges, TopUp } from '../../workflows/contract/session.ts';
import { LIMITS } from '../../workflows/contract/options-problem.ts';
import type { Steered } from '../../workflows/contract/steered.ts';
import { oneLine } from '../paint.ts';
import { count, formatMoment } from '../units.ts';

/** On one line: limits raised to 20 turns by ana, 2026-11-25 14:03:10 UTC */
export function steeredText(steered: Steered): string {
  const { at, by, earlier } = steered;
  const before = earlier === undefined ? '' : ` (${count(earlier, 'earlier action')} not listed)`;
  return `${deedText(steered)}${by === undefined ? '' : ` by ${oneLine(by, 100)}`}, ${formatMoment(at)}${before}`;
}

/** What is done without any more to say of it. */
export const DEEDS = {
  interrupt: 'interrupted',
  resume: 'asked to go on',
  cancel: 'cancelled',
  repair: 'repaired',
  snip: 'entries taken out of the model’s view',
} as const;

function deedText({ action, limits = {}, changes = {}, untold = [] }: Steered): string {
  switch (action) {
    case 'topUp':
      return `limits raised to ${limitsText(limits)}`;
    case 'setOptions':
      return `options for the next run set (${[optionsText(changes), ...untold.map((name) => oneLine(name, 60))].filter((text) => text !== '').join(', ')})`;
    default:
      return DEEDS[action];
  }
}

export function limitsText(limits: TopUp): string {
  return Object.entries(limits)
    .map(([key, value]) => {
      const what = LIMITS[key as keyof TopUp] ?? oneLine(key, 60);
      // Whoever writes an update by hand may send a null, and the session passes it over.
      return typeof value === 'number' ? `${value.toLocaleString('en')} ${what}` : `${what} as the worker says`;
    })
    .join(', ');
}

const LONGEST = 80;

/** Values of variables for tools may be secret: not everybody who looks is to read them. */
export function optionsText(changes: OptionChanges): string {
  return Object.entries(changes)
    .map(([key, value]) => {
      if (key === 'toolEnv' && value !== null) return key;
      const text = value === null ? 'as the worker says' : typeof value === 'string' ? value : JSON.stringify(value);
      return `${oneLine(key, 60)} ${oneLine(text, LONGEST)}`;
    })
    .join(', ');
}
