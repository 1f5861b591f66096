// Says in words who steered a session and how (O12).
import type { Rewound } from '../../workflows/contract/rewind.ts';
import type { OptionChanges, TopUp } from '../../workflows/contract/session.ts';
import { LIMITS } from '../../workflows/contract/options-problem.ts';
import type { Steered } from '../../workflows/contract/steered.ts';
import { oneLine } from '../paint.ts';
import { formatCount, formatMoment } from '../units.ts';

/** Formats one line: limits raised to 20 turns by ana, 2026-11-25 14:03:10 UTC */
export function steeringText(steered: Steered): string {
  const { at, by, earlier } = steered;
  const before = earlier === undefined ? '' : ` (${formatCount(earlier, 'earlier action')} not listed)`;
  return `${actionText(steered)}${by === undefined ? '' : ` by ${oneLine(by, 100)}`}, ${formatMoment(at)}${before}`;
}

/** Actions without further details. */
export const PLAIN_ACTIONS = {
  interrupt: 'interrupted',
  resume: 'asked to go on',
  cancel: 'cancelled',
  repair: 'repaired',
  snip: 'entries taken out of the model’s view',
} as const;

function actionText({ action, limits = {}, changes = {}, untold = [], rewound }: Steered): string {
  switch (action) {
    case 'topUp':
      return `limits raised to ${limitsText(limits)}`;
    case 'setOptions':
      return `options for the next run set (${[optionsText(changes), ...untold.map((name) => oneLine(name, 60))].filter((text) => text !== '').join(', ')})`;
    case 'rewind':
      return rewoundText(rewound);
    default:
      return PLAIN_ACTIONS[action];
  }
}

function rewoundText({ to, files = [] }: Partial<Rewound> = {}): string {
  const count = files.reduce((sum, root) => sum + root.files, 0);
  const parts = [
    ...(to === undefined ? [] : ['the conversation']),
    ...(files.length > 0 ? [formatCount(count, 'file')] : []),
  ];
  return `went back to an earlier point: ${parts.join(' and ')}`;
}

export function limitsText(limits: TopUp): string {
  return Object.entries(limits)
    .map(([key, value]) => {
      const what = LIMITS[key as keyof TopUp] ?? oneLine(key, 60);
      // An update written by hand may contain null, which the session passes over.
      return typeof value === 'number' ? `${value.toLocaleString('en')} ${what}` : `${what} as the worker says`;
    })
    .join(', ');
}

const LONGEST = 80;

/** Lists options but hides the values of variables for tools, which may be secret. */
export function optionsText(changes: OptionChanges): string {
  return Object.entries(changes)
    .map(([key, value]) => {
      if (key === 'toolEnv' && value !== null) return key;
      const text = value === null ? 'as the worker says' : typeof value === 'string' ? value : JSON.stringify(value);
      return `${oneLine(key, 60)} ${oneLine(text, LONGEST)}`;
    })
    .join(', ');
}
